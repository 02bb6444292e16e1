"""Why slow: swap, evaluating again, or a long reply."""

from __future__ import annotations

from pathlib import Path

import pytest

import kvlab
from kvlab.events import Event, Matched, RequestBegan, RequestClosed
from kvlab.findings import facts
from kvlab.findings.why_slow import why_slow
from kvlab.importers import import_file
from kvlab.recording import Recording
from tests.findings.outside.seen import recording_of

SAMPLES = Path(__file__).parents[1] / "fixtures" / "samples"


def timed(*rows: tuple[int, int, float, float]) -> Recording:
    """Return requests of 10,000 tokens by (matched, cached, seconds of prefill, seconds of the reply)."""
    events: list[tuple[float, int, Event]] = []
    for number, (matched, cached, prefill, decode) in enumerate(rows, start=1):
        events += [
            (0.0, number, RequestBegan(tokens=10_000)),
            (0.0, number, Matched(tokens=10_000, matched=matched, cached=cached, left=10_000 - cached)),
            (0.0, number, RequestClosed(generated=100, prefill_s=prefill, decode_s=decode)),
        ]
    return recording_of(events, source="ollama-log")


def test_speeds_that_fall_as_swap_grows() -> None:
    found = why_slow(facts(import_file(SAMPLES / "cold_warm.csv").recording))
    assert (found.verdict, found.confidence) == ("swap", "high")
    assert (found.numbers["first_decode_tokens_per_s"], found.numbers["last_decode_tokens_per_s"]) == (58.7, 13.35)
    assert found.numbers["swap_growth_bytes"] == 31_100_000_000


def test_what_matched_and_was_evaluated_again() -> None:
    found = why_slow(facts(timed((0, 0, 20.0, 1.0), (9_000, 0, 20.0, 1.0), (9_000, 0, 20.0, 1.0))))
    assert found.verdict == "re_prefill"
    assert found.numbers["evaluated_again_s"] == pytest.approx(36.0)
    assert found.numbers["evaluated_again_tokens"] == 18_000


def test_a_long_reply_is_no_prefill_that_hangs() -> None:
    found = why_slow(facts(timed((0, 0, 20.0, 300.0))))
    assert found.verdict == "long_decode"
    assert "one token less than its total" in found.summary


def test_new_prompts_are_no_reason_of_these() -> None:
    found = why_slow(facts(timed((0, 0, 20.0, 1.0), (0, 0, 20.0, 1.0))))
    assert found.verdict == "not_enough_data"
    assert found.numbers["prefill_s"] == pytest.approx(40.0)


def test_the_twin_has_no_seconds() -> None:
    assert why_slow(facts(kvlab.twin("smollm2").run("unrelated:3", progress=False))).verdict == "not_enough_data"
