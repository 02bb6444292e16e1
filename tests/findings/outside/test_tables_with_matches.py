"""Tables with total, matched and cached: their requests reach the twin and the reasons as a log's do."""

from __future__ import annotations

from pathlib import Path

import pytest

import kvlab
from kvlab.importers import import_file
from kvlab.lab.twin import Twin
from kvlab.policy import Policy
from kvlab.recording.reported import reported_bytes
from kvlab.workloads import resolve


def table(tmp_path: Path, workload: str, shape: str, version: str) -> tuple[Path, str]:
    """Write the table that a user has of a run without a leak, and return it with the run's own verdict."""
    twin, policy = kvlab.twin(shape), Policy.ollama(version)
    run = Twin(twin.shape, policy).run(resolve(workload), policy, progress=False)
    sizes = reported_bytes(run)
    rows = [f"{n},{t},{m},{c},{g},{sizes[n]} B" for n, t, m, c, g in run.requests.select("request", "tokens", "matched", "cached", "generated").iter_rows()]
    file = tmp_path / "run.csv"
    file.write_text("request,total,matched,cached,generated,SIZE\n" + "\n".join(rows) + "\n")
    return file, kvlab.diagnose(run).about("budget_or_leak").verdict


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(("workload", "shape"), [("chat:50", "qwen3.8-27b"), ("unrelated:20", "qwen3.8-27b"), ("chat:30", "gemma4-31b")])
@pytest.mark.parametrize("version", ["main", "0.32.7"])
def test_a_run_without_a_leak_is_what_it_is(tmp_path: Path, workload: str, shape: str, version: str, *, named: bool) -> None:
    file, verdict = table(tmp_path, workload, shape, version)
    found = kvlab.diagnose(import_file(file).recording, shape=shape, policy=version if named else None).about("budget_or_leak")
    assert found.verdict == verdict


def test_reasons_of_a_table_are_those_of_its_figures(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    # the figures of the public report 18267
    file.write_text("request,total,matched,cached,left\n1,23169,21742,16383,6786\n2,38086,36620,32767,5319\n3,35755,35735,32767,2988\n")
    found = kvlab.diagnose(import_file(file).recording).about("why_not_reused")
    assert found.verdict == "reuse_limited_by_restore_point"
    assert found.numbers["requests_reuse_limited_by_restore_point"] == 3
    file.write_text("request,total,matched,cached\n1,100,0,0\n2,200,90,90\n3,300,190,190\n")
    found = kvlab.diagnose(import_file(file).recording).about("why_not_reused")
    assert (found.verdict, found.numbers["requests_nothing_shared"]) == ("reused_in_full", 1)
