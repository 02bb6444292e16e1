"""No two findings of one report contradict each other, whatever was read; what stays above the budget is never called the budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

import kvlab
from kvlab.errors import KvlabError
from kvlab.findings import Findings
from kvlab.importers import import_file
from kvlab.lab.twin import Twin
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.units import GIB, MIB
from kvlab.workloads import case
from tests.findings.contradictions import BOUNDED, contradictions
from tests.importers.write_ollama_log import write_ollama_log

TESTS = Path(__file__).parents[1]
FILES = sorted(path for root in (TESTS / "fixtures", TESTS.parent / "data" / "samples") for path in root.rglob("*.*") if path.suffix != ".md")
CASES = sorted((TESTS / "cases").rglob("*.json"))
DEFECTS = ({}, {"capture_as": "view"}, {"lifetimes": "sweep"}, {"copy_before_overwrite": "first_append"}, {"protect": "active_path"})


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_findings_on_a_file_agree(path: Path) -> None:
    try:
        recording = import_file(path).recording
    except KvlabError:
        return  # what cannot be read has no findings
    assert contradictions(kvlab.diagnose(recording)) == []


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_findings_on_a_case_agree(path: Path) -> None:
    workload = case(path)
    assert workload.shape is not None
    policy = Policy().amended(workload.policy)
    for choices in DEFECTS if path.parent.name == "tokens" else DEFECTS[:1]:
        recording = Twin(workload.shape).run(workload, policy.replace(**choices), progress=False)
        assert contradictions(kvlab.diagnose(recording)) == [], choices


def plateau(tmp_path: Path, version: str, gib: float, *, left: int, rise: int = 20, stay: int = 60) -> Recording:
    """Return the import of a log whose paged-out bytes rise over some requests to so many GiB and stay there."""
    lines = [f'time=2026-09-20T14:00:00.000Z level=INFO source=routes.go:1 msg="Listening on 127.0.0.1:11434 (version {version})"'] if version else []
    for number in range(1, rise + stay + 1):
        at = f"time=2026-09-20T14:{number // 60:02}:{number % 60:02}.000Z level="
        matched = 1000 - (left if number > rise else 1000)
        word = "hit" if matched else "miss"
        held = f"active_size: 1.00 GiB, paged_out: {min(number, rise) * gib / rise:.2f} GiB, trie: nodes={number}, snapshots={number}"
        lines += [
            f'{at}INFO source=prefix_cache.go:1 msg="cache {word}" total=1000 matched={matched} cached={matched} left={1000 - matched}',
            f'{at}TRACE source=prefix_cache.go:1 msg="prefix cache active_tokens: 1000, {held}"',
        ]
    log = tmp_path / "server.log"
    log.write_text("\n".join(lines) + "\n")
    return import_file(log).recording


@pytest.mark.parametrize("version", ["0.33.0", "0.34.2", ""])
@pytest.mark.parametrize("gib", [8.2, 9.67, 16.0, 24.0, 40.0, 80.0])
@pytest.mark.parametrize("rise", [1, 20])
def test_a_plateau_above_the_budget_is_not_the_budget(tmp_path: Path, version: str, gib: float, rise: int) -> None:
    findings = kvlab.diagnose(plateau(tmp_path, version, gib, left=900, rise=rise))
    growth = findings.about("budget_or_leak")
    assert growth.verdict == "unexplained"
    assert "stops at the budget" not in findings.text()
    assert contradictions(findings) == []


@pytest.mark.parametrize("version", ["0.33.0", "0.34.2"])
def test_repeats_of_an_exempt_path_explain_it(tmp_path: Path, version: str) -> None:
    findings = kvlab.diagnose(plateau(tmp_path, version, 16.0, left=1))
    assert findings.about("budget_or_leak").verdict == "over_budget_by_design"
    assert contradictions(findings) == []


def test_a_plateau_at_the_budget_still_is(tmp_path: Path) -> None:
    assert kvlab.diagnose(plateau(tmp_path, "0.33.0", 8.0, left=900)).about("budget_or_leak").verdict == "budget"


VERSIONS = ["0.30.7", "0.32.5", "0.33.0", "0.34.2", ""]
MODEL, WEIGHTS = "gemma4:31b-mlx", 17.0


def misses(tmp_path: Path, version: str, counted: Iterable[float]) -> Findings:
    """Return what is said of a log of a model whose shape is shipped: after each request, which shares nothing, so many GiB are counted."""
    at = "time=2026-09-20T{:02}:{:02}:{:02}.000Z level="
    lines = [f'{at.format(14, 0, 0)}INFO source=routes.go:1 msg="Listening on 127.0.0.1:11434 (version {version})"'] if version else []
    for number, gib in enumerate(counted):
        second = 10 + 20 * number
        now = at.format(14 + second // 3600, second // 60 % 60, second % 60)
        size, trie = f"{gib + WEIGHTS:.2f} GiB", f"trie: nodes={number + 4}, snapshots={number + 3}"
        if not number:
            lines.append(f'{now}INFO source=client.go:1 msg="starting mlx runner subprocess" model={MODEL} port=60000')
        lines += [
            f'{now}INFO source=prefix_cache.go:1 msg="cache miss" total=9000 matched=0 cached=0 left=9000',
            f'{now}TRACE source=array.go:1 msg="tensors total: 0, size: {size}, active: {size}"',
            f'{now}TRACE source=prefix_cache.go:1 msg="prefix cache active_tokens: 9023, active_size: 1.47 GiB, paged_out: {gib:.2f} GiB, {trie}"',
        ]
    log = tmp_path / "server.log"
    log.write_text("\n".join(lines) + "\n")
    return kvlab.diagnose(log)


def ramp(top: float, rise: int = 20) -> list[float]:
    return [1 + (top - 1) * min(place + 1, rise) / rise for place in range(rise)]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("top", [8.05, 8.2, 8.3, 9.67, 80.0])
def test_a_plateau_just_above_the_budget_is_not_the_budget_although_the_simulation_fits(tmp_path: Path, version: str, top: float) -> None:
    findings = misses(tmp_path, version, [*ramp(top), *[top] * 60])
    assert findings.about("budget_or_leak").verdict == "unexplained"
    assert contradictions(findings) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("top", [7.9, 8.0])
def test_a_plateau_at_the_budget_is_full_in_every_finding(tmp_path: Path, version: str, top: float) -> None:
    findings = misses(tmp_path, version, [*ramp(top), *[top] * 60])
    assert findings.about("budget_or_leak").verdict == "budget"
    assert "evicts nothing yet" not in findings.text()
    assert contradictions(findings) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_what_was_far_above_the_budget_and_came_back_is_named(tmp_path: Path, version: str) -> None:
    findings = misses(tmp_path, version, [*ramp(24.0), *[8.0] * 60])
    growth = findings.about("budget_or_leak")
    assert growth.verdict == "unexplained"
    assert "24.00 GiB after request 20" in growth.summary
    assert contradictions(findings) == []


@pytest.mark.parametrize("version", VERSIONS)
def test_what_falls_does_not_stay(tmp_path: Path, version: str) -> None:
    growth = misses(tmp_path, version, [*ramp(24.0), *(24.0 - 0.2 * place for place in range(60))]).about("budget_or_leak")
    assert "this falls" in growth.summary
    assert ("--policy" in growth.summary) == (not version)


@pytest.mark.parametrize("source", ["lab", "twin"])
def test_pinned_bytes_without_a_simulation_are_a_leak_in_both(recording: Callable[..., Recording], source: str) -> None:
    made = recording(({"counted": 1_000, "snapshots": 1_000 + number * MIB} for number in range(12)), source=source, budget=8 * GIB)
    findings = kvlab.diagnose(made)
    assert findings.about("who_holds_it").verdict == "leak"
    assert findings.about("budget_or_leak").verdict not in BOUNDED
    assert contradictions(findings) == []


def test_evictions_far_below_an_assumed_budget_show_that_it_is_another_one(tmp_path: Path) -> None:
    run = kvlab.twin("smollm2").run("unrelated:40", Policy(budget_bytes=4 * MIB), progress=False)
    findings = kvlab.diagnose(import_file(write_ollama_log(run, tmp_path / "server.log")).recording)
    growth = findings.about("budget_or_leak")
    assert growth.verdict == "budget"
    assert "smaller than the 8.00 GiB" in growth.summary
    assert "stops at the budget" not in findings.text()
    assert contradictions(findings) == []
