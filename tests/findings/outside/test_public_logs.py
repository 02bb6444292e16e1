"""What the logs of four public reports say, held against what their threads came to (upstream's own words, in data/SOURCES.md).

17783: the active path was exempt from eviction. 17839: a refused restore freed all layers; captures of a cancelled prefill were lost.
17924: the 8 GiB budget, 0.147 GiB a request, flat at 28.5 GiB after 55 to 60 requests. 18267: restore points lie on a grid of 8192, less the look-ahead.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import kvlab
from kvlab.findings import Findings
from kvlab.importers import import_file
from kvlab.units import GIB, MIB

LOGS = Path(__file__).parents[2] / "fixtures" / "logs"


def findings(name: str, shape: str | None = None) -> Findings:
    return kvlab.diagnose(import_file(LOGS / name).recording, shape=shape)


@pytest.mark.parametrize("name", ["real_17783_ollama_ps.txt", "real_17783_v0.32.4-6_load_and_trace.log"])
def test_17783_two_figures_are_no_trend_but_the_rules_exempt_the_active_path(name: str) -> None:
    found = findings(name).about("budget_or_leak")
    assert found.verdict == "not_enough_data"
    assert found.numbers["whole_state_bytes"] == 800 * MIB
    assert found.numbers["conversation_verdict_active_path_exempt"] == "over_budget_by_design"
    assert found.numbers["conversation_verdict_upstream_main"] == "budget"
    assert "active path is exempt from eviction" in found.summary


def test_17839_all_layers_are_freed_after_a_refused_restore() -> None:
    found = findings("real_17839_freeall_as_pasted_wrapped.txt").about("why_not_reused")
    assert found.verdict == "refused_by_layer"
    assert (found.numbers["worst_request_matched_tokens"], found.numbers["worst_request_cached_tokens"]) == (46974, 0)
    assert (found.numbers["refused_at_tokens"], found.numbers["requests_that_freed_all_caches"]) == (2 * 8192 - 1, 1)
    # the grid's own point below the match: it is missing, as captures of a cancelled prefill were thrown away
    assert found.numbers["restore_point_that_would_have_helped_tokens"] == 5 * 8192 - 1
    assert "cancelled" in found.summary
    assert "the trie and its snapshots stay" in found.summary


def test_17924_is_a_budget_that_fills() -> None:
    found = findings("real_17924_resident_table.txt").about("budget_or_leak")
    assert found.verdict == "budget_filling"
    assert found.confidence == "low"
    numbers = found.numbers
    assert isinstance(numbers["growth_bytes_per_request"], int)
    assert numbers["growth_bytes_per_request"] / GIB == pytest.approx(0.147, abs=0.002)
    assert isinstance(numbers["predicted_plateau_bytes"], int)
    assert numbers["predicted_plateau_bytes"] / GIB == pytest.approx(28.5, abs=0.01)
    assert isinstance(numbers["requests_until_full"], int)
    assert 55 <= 30 + numbers["requests_until_full"] <= 60


@pytest.mark.parametrize(("shape", "layers"), [(None, "recurrent or rotating"), ("qwen3.8-27b", "recurrent")])
def test_18267_restore_points_lie_on_the_grid(shape: str | None, layers: str) -> None:
    found = findings("real_18267_v0.33.3_abridged.txt", shape).about("why_not_reused")
    assert found.verdict == "reuse_limited_by_restore_point"
    assert found.numbers["requests_reuse_limited_by_restore_point"] == 3
    assert (found.numbers["restore_point_used_tokens"], found.numbers["restore_point_used_is"]) == (2 * 8192 - 1, "grid")
    assert (found.numbers["restore_point_that_would_have_helped_tokens"], found.numbers["restore_point_that_would_have_helped_is"]) == (21742, "at_the_match")
    assert found.numbers["spared_at_most_tokens"] == 21742 - 16383
    assert "4 tokens before the earlier prompt's end lies past the match" in found.summary
    assert found.numbers["limiting_layer"] == layers
