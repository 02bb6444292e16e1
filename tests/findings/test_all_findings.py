"""All findings of a recording together: the gravest first, in words, with hints that fit the recording."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import pytest

import kvlab
from kvlab.findings import DEFECTS, Findings, budget_or_leak, facts
from kvlab.findings.checklist import checklist
from kvlab.policy import Policy
from kvlab.recording import Recording
from tests.findings.outside.seen import sizes


@lru_cache(maxsize=1)
def contaminated() -> Findings:
    return kvlab.diagnose(kvlab.twin("qwen3.8-27b").run("C1", Policy.ollama("0.32.5"), progress=False))


def test_the_gravest_comes_first() -> None:
    found = contaminated()
    assert found.findings[0].verdict == "wrong_state_restored"
    places = [DEFECTS.index(one.verdict) if one.verdict in DEFECTS else len(DEFECTS) for one in found]
    assert places == sorted(places)


def test_bytes_below_what_the_rules_hold_are_no_leak(recording: Callable[..., Recording]) -> None:
    rows: list[dict[str, Any]] = [{"counted": 1_000_000 + 50_000 * place, "predicted": 9_000_000} for place in range(30)]
    assert budget_or_leak(facts(recording(rows, budget=10**9, origin={"device": "cpu"}))).verdict != "leak"


@pytest.mark.parametrize("made", [contaminated, lambda: kvlab.diagnose(sizes([(1, 10**9), (2, 10**9)]))], ids=["run", "table"])
def test_no_sentence_holds_a_verdicts_identifier(made: Callable[[], Findings]) -> None:
    for one in made():
        # one question may point to another by its name
        assert not {"not_enough_data", "budget_filling", "no_growth", "over_budget_by_design"} & set(one.summary.replace(".", " ").split())


def test_a_hint_names_the_recordings_own_workload_or_how_to_watch() -> None:
    ran = kvlab.diagnose(kvlab.twin("qwen3-8b").run("unrelated:3", progress=False)).about("why_slow").summary
    assert "kvlab probe --workload unrelated:3" in ran
    pasted = kvlab.diagnose(sizes([(1, 10**9)])).about("why_slow").summary
    assert "kvlab probe --watch 600 while the same requests run" in pasted


def test_the_checklists_items_say_what_they_are_about() -> None:
    items = json.loads(json.dumps(checklist(sizes([(1, 10**9)])).to_dict()))["items"]
    # read by its old name for one version
    assert all(item["about"] == item["asks"] for item in items)
