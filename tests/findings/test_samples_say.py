"""The findings use what a recording says: marks of answers, the system's figures, a cancel, a runner that was stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlab.events import BytesRead, Event, Evicted, Listed, Observed, RequestBegan, RequestClosed, RunnerChanged
from kvlab.findings import facts
from kvlab.findings.is_the_answer_right import is_the_answer_right
from kvlab.findings.what_survived_a_cancel import what_survived_a_cancel
from kvlab.findings.what_will_unload_give_back import what_will_unload_give_back
from kvlab.findings.which_budget import which_budget
from kvlab.findings.why_slow import why_slow
from kvlab.findings.will_it_fit import will_it_fit
from kvlab.importers import import_file
from kvlab.recording import Recording
from kvlab.units import GIB, MIB
from tests.findings.outside.seen import recording_of

SAMPLES = Path(__file__).parents[1] / "fixtures" / "samples"


def sample(name: str) -> Recording:
    return import_file(SAMPLES / name).recording


def answers(*reported: tuple[str, str]) -> Recording:
    """Return requests by (gauge, what was read of the answer)."""
    events: list[Event] = []
    for gauge, words in reported:
        number = float(words) if words.isdigit() else None
        events += [RequestBegan(label="D07"), Observed(gauge=gauge, number=number, words=None if words.isdigit() else words), RequestClosed()]
    return recording_of((0.0, 1 + place // 3, event) for place, event in enumerate(events))


def test_answers_of_other_tasks_are_named() -> None:
    found = is_the_answer_right(facts(sample("contamination_matrix.csv")))
    assert (found.verdict, found.confidence) == ("wrong_state_restored", "medium")
    assert (found.numbers["answers_with_marks"], found.numbers["wrong_answers"]) == (4, 3)
    assert found.numbers["first_wrong_request"] == 2
    assert "D08" in found.summary


def test_a_missing_mark_alone_is_no_proof() -> None:
    found = is_the_answer_right(facts(answers(("nonce_ok", "true"), ("nonce_ok", "false"))))
    assert found.verdict == "not_enough_data"
    assert "1 of 2 answers" in found.summary


def test_own_marks_alone_prove_no_position() -> None:
    found = is_the_answer_right(facts(answers(("own_mark", "1"), ("own_mark", "1"))))
    assert found.verdict == "not_enough_data"
    assert "all 2 answers" in found.summary


def test_a_foreign_mark_that_a_probe_saw() -> None:
    found = is_the_answer_right(facts(answers(("foreign_marks", "0"), ("foreign_marks", "1"))))
    assert (found.verdict, found.numbers["first_wrong_request"]) == ("wrong_state_restored", 2)


def test_whose_an_answer_is_counts_only_with_a_mark_that_is_missing() -> None:
    for own, verdict in (("true", "not_enough_data"), ("false", "wrong_state_restored")):
        reported = (Observed(gauge="nonce_ok", words=own), Observed(gauge="answer_of", words="D08"))
        events: tuple[Event, ...] = (RequestBegan(label="D07"), *reported, RequestClosed())
        assert is_the_answer_right(facts(recording_of((0.0, 1, event) for event in events))).verdict == verdict


def test_swap_of_a_machine_that_has_little_free() -> None:
    found = why_slow(facts(sample("system_trace.log")))
    assert (found.verdict, found.confidence) == ("swap", "low")
    assert found.numbers["free_share"] == pytest.approx(0.12)
    assert "871.25 MiB" in found.summary
    assert "12 %" in found.summary


def test_what_the_system_reports_is_said_with_what_is_missing() -> None:
    recording = sample("system_trace.log")
    for found in (will_it_fit(facts(recording)), which_budget(facts(recording))):
        assert found.verdict == "not_enough_data"
        assert "12 %" in found.summary
        assert "871.25 MiB" in found.summary


def test_the_share_that_is_free_is_what_is_available() -> None:
    events = [Observed(gauge="size", observed=18 * GIB), Observed(gauge="physical", observed=64 * GIB), Observed(gauge="free_share", number=0.25)]
    assert will_it_fit(facts(recording_of((0.0, 0, event) for event in events))).numbers["available_bytes"] == 16 * GIB


def test_peaks_are_named_where_the_machine_is_not() -> None:
    found = will_it_fit(facts(sample("peak_by_prompt.log")))
    assert found.verdict == "not_enough_data"
    assert "60.12 GiB" in found.summary
    assert found.numbers["highest_peak_request"] == 4
    assert "swap already active" in why_slow(facts(sample("peak_by_prompt.log"))).summary


def evicting(counted: int, freed: int) -> Recording:
    events = [RequestBegan(), Evicted(freed=freed), BytesRead(phase="close", counted=counted), RequestClosed()]
    return recording_of(((0.0, 1, event) for event in events), source="ollama-log")


@pytest.mark.parametrize(("counted", "freed", "full"), [(587 * MIB, 298 * MIB, False), (8 * GIB - 100 * MIB, 150 * MIB, True), (8 * GIB, 0, True)])
def test_a_budget_is_full_where_what_is_counted_reaches_it(counted: int, freed: int, full: bool) -> None:  # noqa: FBT001  a parameter of a test
    assert ("is full" in which_budget(facts(evicting(counted, freed))).summary) == full


def test_a_log_whose_budget_was_not_reached() -> None:
    words = which_budget(facts(sample("mlxrunner.log"))).summary
    assert "is full" not in words
    assert "587.25 MiB" in words


def test_a_cancel_in_the_log_is_seen() -> None:
    found = what_survived_a_cancel(facts(sample("mlxrunner.log")))
    assert found.verdict == "not_enough_data"
    # it was cancelled before its first token: not in its reply
    assert "Request 2 was cancelled; how far its prompt" in found.summary


def test_a_runner_that_was_stopped_has_no_forecast() -> None:
    found = what_will_unload_give_back(facts(sample("mlxrunner.log")))
    assert (found.verdict, found.numbers["is_forecast"], found.numbers["old_pids"]) == ("not_settled", "no", [4242])
    assert "18.01 GiB" in found.summary


def test_one_of_two_runners_stopped_leaves_the_forecast_of_the_other() -> None:
    events = [RunnerChanged(state="ready", port=1), RunnerChanged(state="ready", port=2), RunnerChanged(state="stopping", port=1)]
    read: list[Event] = [*events, Observed(gauge="size", observed=GIB)]
    assert what_will_unload_give_back(facts(recording_of((0.0, 0, event) for event in read))).numbers["is_forecast"] == "yes"


def test_a_runner_that_is_to_stop_and_to_be_unloaded_is_one() -> None:
    events: list[Event] = [RunnerChanged(state="ready", port=1), RunnerChanged(state="ready", port=2)]
    events += [RunnerChanged(state=state, pid=4, port=1) for state in ("stopping", "unloaded")]
    assert (
        what_will_unload_give_back(facts(recording_of((0.0, 0, event) for event in [*events, Observed(gauge="size", observed=GIB)]))).numbers["is_forecast"]
        == "yes"
    )


def test_what_is_still_to_come_is_a_condition_where_the_budget_was_not_read() -> None:
    recording = sample("activity_monitor.txt")
    for found in (will_it_fit(facts(recording)), which_budget(facts(recording))):
        assert "are still to come" not in found.summary
        assert "up to 8.00 GiB" in found.summary.lower().replace("gib", "GiB")
        assert "was not read" in found.summary
        assert found.confidence == "low"


def test_an_empty_list_needs_no_room() -> None:
    events = [Listed(count=0), Observed(gauge="footprint", observed=GIB), Observed(gauge="available", observed=60 * GIB)]
    recording = recording_of((0.0, 0, event) for event in events)
    for found in (will_it_fit(facts(recording)), which_budget(facts(recording))):
        assert found.verdict == "not_enough_data"
        assert "No model is listed" in found.summary
