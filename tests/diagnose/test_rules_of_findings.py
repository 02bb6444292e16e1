"""What holds of every answer, over all inputs that the tests have: logs, samples, reports, cases and runs."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import pytest

import kvlab
from kvlab.diagnose import Findings, facts
from kvlab.diagnose.missing import GAPS
from kvlab.errors import KvlabError
from kvlab.importers import import_file
from kvlab.recording import Recording
from kvlab.recording.facts import Facts
from kvlab.units import GIB

TESTS = Path(__file__).parents[1]
FILES = sorted(
    path for root in (TESTS / "fixtures", TESTS.parent / "data" / "samples") for path in root.rglob("*.*") if path.suffix != ".md" or "reports" in str(path)
)

DENIALS = {
    "Free memory was not recorded.": lambda known: known.machine.available is None,
    "The bytes that the model takes were not recorded.": lambda known: known.parts.held is None,
    "Seconds of prefill and reply were not recorded.": lambda known: not known.served_s and not known.requests["prefill_s"].sum(),
    "No figure of an owner of bytes was read.": lambda known: not known.parts.bytes,
    "The model's bytes were not recorded after its requests.": lambda known: not any(rows.height for rows in known.charged.values()),
    "No model is listed.": lambda known: known.none_listed,
}
"""Sentences that deny something, and what has to be true then."""


@lru_cache(maxsize=1)
def read(path: Path) -> tuple[Recording, Facts, Findings] | None:
    try:
        recording = import_file(path).recording
    except KvlabError:
        return None
    return recording, facts(recording), kvlab.diagnose(recording)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_rules_of_a_file(path: Path) -> None:
    found = read(path)
    if found is None:
        return  # what cannot be read has no findings
    _, known, findings = found
    for finding in findings:
        # what is missing is named, is missing indeed, and no command is named whose output was given
        assert bool(finding.missing) == finding.is_open, finding
        for name in finding.missing:
            assert GAPS[name].absent(known), (finding.question, name)
            given = {known.source, *known.gauges}
            for command, shown_by in GAPS[name].record:
                assert not given.intersection(shown_by) or command not in finding.summary, (finding.question, command)
        for sentence, holds in DENIALS.items():
            assert sentence not in finding.summary or holds(known), (finding.question, sentence)
        assert "{" not in finding.summary
        assert finding.refuted_by
    # no verdict on a budget where nothing shows a cache
    if known.budget.how == "unknown":
        assert findings.about("which_budget").is_open
        assert findings.about("budget_or_leak").verdict in ("not_enough_data", "no_growth", "heap_growth")
        assert "8.00 GiB" not in findings.about("budget_or_leak").summary
    # every warning of the source is in a finding or beside the findings
    said = findings.text()
    for _, message in known.warnings[:3]:
        assert message in said or re.sub(r"\d[\d.,]*", "#", message) in re.sub(r"\d[\d.,]*", "#", said)


@pytest.mark.parametrize("rows", range(3, 9))
def test_more_rows_are_never_less_sure_or_another_verdict(tmp_path: Path, rows: int) -> None:
    file = tmp_path / "rows.csv"
    lines = [f"{1 + 66 * place},16384,{8.25 + 1.83 * place:.2f} GB,7.98 GB" for place in range(rows)]
    file.write_text("request,num_ctx,footprint,size\n" + "\n".join(lines) + "\n")
    found = kvlab.diagnose(import_file(file).recording).about("budget_or_leak")
    assert (found.verdict, found.confidence) == ("heap_growth", "low" if rows < 5 else "medium")


def test_facts_are_folded_once_and_say_how_well_each_is_known() -> None:
    twin = kvlab.twin("qwen3.8-27b")
    known = facts(twin.run("unrelated:4", progress=False))
    assert known.owners is known.owners
    assert (known.shape.how, known.policy.how, known.budget.value) == ("known", "known", 8 * GIB)
    named = facts(import_file(TESTS / "fixtures" / "samples" / "mlxrunner.log").recording)
    assert named.to_dict()["budget_bytes"]["how"] in ("known", "assumed")
    given = facts(import_file(TESTS / "fixtures" / "reports" / "composite_vmstat_full.txt").recording, shape="qwen3-8b", policy="0.32.5", machine="64GiB")
    assert (given.shape.by, given.policy.by, given.machine.total) == ("given", "given", 64 * GIB)
    bare = facts(import_file(TESTS / "fixtures" / "reports" / "composite_vmstat_full.txt").recording)
    assert (bare.shape.how, bare.policy.how) == ("unknown", "unknown")
    assert str(bare) == bare.text()


@pytest.mark.parametrize("machine", ["24GiB", "28GiB", "32GiB", "64GiB"])
def test_a_proposed_budget_fits_the_machine_of_a_twin(machine: str) -> None:
    twin = kvlab.twin("qwen3.8-27b")
    first = kvlab.diagnose(twin.run("unrelated:40", progress=False), machine=machine)
    proposed = first.about("which_budget").numbers["proposed_budget_bytes"]
    assert isinstance(proposed, int)
    made = twin.run("unrelated:40", twin.policy.replace(budget_bytes=proposed), progress=False)
    again = kvlab.diagnose(made, machine=machine)
    assert again.about("will_it_fit").verdict == "fits"
    assert again.about("which_budget").verdict != "budget_larger_than_machine"


def test_the_peak_that_does_not_fit_is_named_with_its_request() -> None:
    run = kvlab.twin("qwen3.6-35b-a3b").run("ladder:1024..131072", kvlab.Policy.ollama("0.30.8"), progress=False)
    worst = run.requests.sort("peak").row(-1, named=True)
    found = kvlab.diagnose(run, machine="32GiB").about("will_it_fit")
    assert found.verdict == "does_not_fit"
    assert (found.numbers["highest_peak_request"], found.numbers["highest_peak_bytes"]) == (worst["request"], worst["peak"])
    assert f"(request {worst['request']})" in found.summary
