"""What holds of every answer, over all inputs that the tests have: logs, samples, reports, cases and runs."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import polars as pl
import pytest

import kvlab
from kvlab.errors import KvlabError
from kvlab.findings import Findings, facts
from kvlab.findings.question import GAPS, WORDS
from kvlab.importers import import_file
from kvlab.recording import Recording
from kvlab.recording.facts import Facts
from kvlab.recording.facts.parts import OTHER_CACHES
from kvlab.units import GB, GIB

TESTS = Path(__file__).parents[1]
FILES = sorted(
    path for root in (TESTS / "fixtures", TESTS.parent / "data" / "samples") for path in root.rglob("*.*") if path.suffix != ".md" or "reports" in str(path)
)

Holds = Callable[[Facts], bool]

DENIALS: dict[str, Holds] = {
    "Free memory was not recorded.": lambda known: known.machine.available is None,
    "Free memory was not recorded in bytes.": lambda known: known.machine.available is None,
    "The bytes that the model takes were not recorded.": lambda known: known.parts.held is None,
    "Seconds of prefill and reply were not recorded.": lambda known: not known.served_s and not known.requests["prefill_s"].sum(),
    "No figure of an owner of bytes was read.": lambda known: not known.parts.bytes,
    "The model's bytes were not recorded after its requests.": lambda known: not any(rows.height for rows in known.charged.values()),
    "No model is listed.": lambda known: known.none_listed,
    "The process's footprint is missing": lambda known: known.parts.get("footprint") is None,
    "The process's footprint was not recorded.": lambda known: known.parts.get("footprint") is None,
    "The requests' matches with the cache were not recorded.": lambda known: _with(known, "matched", "cached") < 2,
    "The requests' matches were not recorded.": lambda known: _with(known, "matched") < 2 or known.shape.value is None,
    "The requests' matches and the server's version were not recorded": lambda known: _with(known, "matched") < 2 or known.shape.value is None,
    "were not read together at any request's close": lambda known: _with(known, "active", "retained") == 0,
    "Restored positions were not verified": lambda known: not known.checked,
    "No position was verified": lambda known: not known.checked,
    "The model's shape is not known.": lambda known: known.shape.value is None,
    "The shape of the model": lambda known: known.shape.value is None,
    "a prefill's transients are not known": lambda known: known.shape.value is None,
    "The server's version was not recorded": lambda known: not known.policy.is_known,
    "its version was not recorded": lambda known: not known.policy.is_known,
    "No limit of it was recorded.": lambda known: "prompt_cache_limit" not in known.last,
    "no limit in bytes was recorded": lambda known: "prompt_cache_limit" not in known.last,
    "No speeds were recorded with it.": lambda known: len(known.numbers("decode_tps")) < 2,
    "How much was swapped was not recorded.": lambda known: not known.machine.swap_grew and not known.machine.swapped_out,
    "what of that was prefill and what reply was not recorded": lambda known: not known.requests["prefill_s"].sum(),
    "(how full the budget is was not read)": lambda known: known.parts.get("counted") is None,
    "(how full it is was not read)": lambda known: known.parts.get("counted") is None,
    "what else runs was not read": lambda known: known.machine.available is None,
    "what of their prompts matched was not recorded": lambda known: known.requests["matched"].null_count() > 0,
    "No twin was recorded with it": lambda known: bool(known.requests["predicted_counted"].null_count()),
    "Bytes that it does not count were not read.": lambda known: not len(known.owners),
    "what the machine has was recorded in bytes": lambda known: known.machine.total is None,
}
"""Sentences that deny something, and what has to be true then."""

DENIES = re.compile(r"not (?:recorded|read|known|verified)|is missing|No \w+ (?:of it )?(?:was|were) |no limit in bytes was|Neither what")
NOT_FIGURES = (
    *("what put the point used there", "the times are not recorded", "When these were read", "the list of models was not read at the end"),
    *("whose answers they are", "how far its prompt had been evaluated", "share a beginning was not recorded", "request with a known end"),
)
"""Sentences that deny what no input has a figure of."""


def _with(known: Facts, *columns: str) -> int:
    """Return how many requests have all of some columns."""
    return int(known.requests.select(pl.all_horizontal(pl.col(columns).is_not_null()).sum()).item())


def test_every_sentence_that_denies_something_has_its_rule() -> None:
    words = [sentence for section in tomllib.loads(WORDS.read_text()).values() for sentence in section.values() if isinstance(sentence, str)]
    denying = [sentence for sentence in (*words, *(gap.lacks for gap in GAPS.values())) if DENIES.search(sentence)]
    assert denying
    assert [one for one in denying if not any(part in one for part in (*DENIALS, *NOT_FIGURES))] == []


@lru_cache(maxsize=len(FILES))
def read(path: Path) -> tuple[Recording, Facts, Findings] | None:
    try:
        recording = import_file(path).recording
    except KvlabError:
        return None
    return recording, facts(recording), kvlab.diagnose(recording)


def is_missing_indeed(known: Facts, findings: Findings) -> None:
    """What an open answer lacks is named, is missing indeed, and no command is named whose output was given."""
    given = {known.source, *known.gauges}
    for finding in findings:
        assert bool(finding.missing) == finding.is_open, finding
        for name in finding.missing:
            assert GAPS[name].absent(known), (finding.question, name)
            for command, shown_by in GAPS[name].record:
                named = command.replace("{workload}", " --w")
                assert not given.intersection(shown_by) or named not in finding.summary, (finding.question, command)


def denies_nothing_that_was_read(known: Facts, findings: Findings) -> None:
    for finding in findings:
        for sentence, holds in DENIALS.items():
            assert sentence not in finding.summary or holds(known), (finding.question, sentence)


def is_filled_in(_known: Facts, findings: Findings) -> None:
    for finding in findings:
        assert not set("{}") & set(finding.summary)
        assert "[[" not in finding.summary
        assert finding.refuted_by
        assert "{" not in finding.refuted_by


def has_no_verdict_on_what_nothing_shows(known: Facts, findings: Findings) -> None:
    if known.budget.how == "unknown":
        assert findings.about("which_budget").is_open
        assert findings.about("budget_or_leak").verdict in ("not_enough_data", "no_growth", "heap_growth")
        assert "8.00 GiB" not in findings.about("budget_or_leak").summary
        # nor on what a request reused, which only a cache has
        assert findings.about("why_not_reused").is_open
    # nor on a model of which nothing was read
    if known.parts.held is None and not known.gauges and not known.samples and not known.signs.height and known.stopped is None:
        assert findings.about("what_will_unload_give_back").is_open
        assert findings.about("who_holds_it").is_open


def has_the_figures_of_other_caches(known: Facts, findings: Findings) -> None:
    for gauge in OTHER_CACHES:
        if known.parts.get(gauge):
            assert findings.about("who_holds_it").numbers[f"{gauge}_bytes"] == known.parts.get(gauge)


def says_what_broke_and_what_was_warned_of(known: Facts, findings: Findings) -> None:
    if known.violations.height or known.wrong_positions.height:
        assert findings.about("is_the_answer_right").verdict in ("not_enough_data", "wrong_state_restored")
        assert findings.about("is_the_answer_right").numbers
    said = re.sub(r"\d[\d.,]*", "#", findings.text())
    for _, message in known.warnings[:3]:
        assert re.sub(r"\d[\d.,]*", "#", message) in said


def keeps_weights_of_the_shape(known: Facts, findings: Findings) -> None:
    """A SIZE is not taken for weights where the shape has them, and what was listed can be these and a cache."""
    shape, weights = known.shape.value, findings.about("which_budget").numbers.get("weights_bytes")
    if shape is None or not shape.weights_bytes or weights is None or known.loaded_weights is not None or known.parts.get("weights") is not None:
        return
    other_files = known.first_size is not None and not shape.weights_bytes - GB <= known.first_size <= shape.weights_bytes + known.budget.value + most_live(
        known
    )
    assert weights == shape.weights_bytes or other_files


def most_live(known: Facts) -> int:
    shape = known.shape.value
    return 0 if shape is None else shape.bytes_per_token * (known.context or shape.context)


RULES = (
    is_missing_indeed,
    denies_nothing_that_was_read,
    is_filled_in,
    has_no_verdict_on_what_nothing_shows,
    has_the_figures_of_other_caches,
    says_what_broke_and_what_was_warned_of,
    keeps_weights_of_the_shape,
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_holds_for_a_file(path: Path, rule: Callable[[Facts, Findings], None]) -> None:
    found = read(path)
    if found is not None:  # what cannot be read has no findings
        rule(*found[1:])


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
