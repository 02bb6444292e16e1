from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from kvlab.errors import BadValue
from kvlab.events import SnapshotClosed, SnapshotOwned, SnapshotPlaced, SnapshotTaken, Violation, WrongPositions
from kvlab.findings import diagnose, do_the_parts_add_up, facts, is_the_answer_right, why_not_reused
from kvlab.recording import Recording

Make = Callable[..., Recording]


def test_parts_add_up_within_a_kibibyte(recording: Make) -> None:
    assert do_the_parts_add_up(facts(recording([{"unattributed": value} for value in (0, 512, -1024)]))).verdict == "adds_up"
    finding = do_the_parts_add_up(facts(recording([{"unattributed": value} for value in (0, 1025, 8)])))
    assert finding.verdict == "does_not_add_up"
    assert finding.numbers["largest_unattributed_bytes"] == 1025
    assert finding.numbers["largest_unattributed_at_request"] == 2
    assert finding.numbers["last_unattributed_bytes"] == 8


def test_counted_bytes_are_held_against_the_snapshots_alive_at_each_close(recording: Make) -> None:
    rows: list[dict[str, Any]] = [
        {"counted": 0, "events": [SnapshotTaken(snapshot=1, start=0, end=7), SnapshotPlaced(snapshot=1, node=1)]},
        {
            "counted": 79,
            "events": [
                SnapshotOwned(snapshot=1, counted=70, retained=70),
                SnapshotTaken(snapshot=2, start=0, end=7, state="owned", counted=9, retained=9),
                SnapshotPlaced(snapshot=2, node=2),
                SnapshotTaken(snapshot=3, start=0, end=7, state="owned", counted=5, retained=5),
            ],
        },
        {"counted": 70, "events": [SnapshotClosed(snapshot=2)]},
    ]
    finding = do_the_parts_add_up(facts(recording(rows)))
    assert finding.verdict == "adds_up"
    assert finding.numbers["requests_with_snapshots_summed"] == 3
    rows[1]["counted"] = 80
    finding = do_the_parts_add_up(facts(recording(rows)))
    assert finding.verdict == "does_not_add_up"
    assert finding.numbers["largest_counted_difference_bytes"] == 1
    assert finding.numbers["largest_counted_difference_at_request"] == 2


def test_parts_need_an_allocator(recording: Make) -> None:
    assert do_the_parts_add_up(facts(recording([]))).verdict == "not_enough_data"


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        ([{}, {}], "nothing_shared"),
        ([{}, {"matched": 100, "cached": 99, "reason": "reused_in_full"}], "reused_in_full"),
        (
            [
                {},
                {"matched": 90, "cached": 40, "reason": "reuse_limited_by_restore_point"},
                {"matched": 90, "cached": 90, "reason": "reused_in_full"},
            ],
            "reuse_limited_by_restore_point",
        ),
        (
            [
                {"matched": 90, "cached": 0, "reason": "refused_by_layer", "layer": "recurrent"},
                {"matched": 90, "cached": 40, "reason": "reuse_limited_by_restore_point"},
            ],
            "refused_by_layer",
        ),
        ([{}, {"reason": "evicted"}, {"matched": 90, "cached": 40, "reason": "reuse_limited_by_restore_point"}], "evicted"),
        (
            [{}, {"matched": 70, "reason": "evicted"}, {"matched": 90, "cached": 40, "reason": "reuse_limited_by_restore_point"}],
            "reuse_limited_by_restore_point",
        ),
    ],
)
def test_the_verdict_on_reuse_is_that_of_what_cost_most(recording: Make, rows: list[dict[str, Any]], verdict: str) -> None:
    finding = why_not_reused(facts(recording(rows)))
    assert finding.verdict == verdict
    assert finding.numbers[f"requests_{verdict}"] == sum(row.get("reason", "nothing_shared") == verdict for row in rows)
    assert finding.numbers["prompt_tokens"] == 100 * len(rows)
    assert all(row["reason"] == verdict for row in finding.evidence[0].rows)
    assert "{" not in finding.summary


def test_what_eviction_cost_is_named_with_the_requests_that_paid(recording: Make) -> None:
    rows: list[dict[str, Any]] = [
        {},
        {"matched": 24, "reason": "evicted"},
        {"matched": 100, "cached": 99, "reason": "reused_in_full"},
        {"reason": "evicted"},
        {"matched": 24, "reason": "reused_in_full"},
    ]
    finding = why_not_reused(facts(recording(rows)))
    assert finding.verdict == "evicted"
    numbers = finding.numbers
    assert (numbers["requests_evicted"], numbers["deciding_requests"]) == (2, [2, 4])
    assert numbers["evicted_tokens_at_most"] == 76 + 100
    assert numbers["matched_not_cached_tokens"] == 1
    assert (numbers["worst_request"], numbers["worst_request_matched_tokens"], numbers["worst_request_left_tokens"]) == (4, 0, 100)
    assert [row["request"] for row in finding.evidence[0].rows] == [4, 2]
    assert "Request 4 matched 0 tokens" in finding.summary
    assert "2 requests: 2, 4." in finding.summary
    assert "only request" in why_not_reused(facts(recording(rows[:2]))).summary


def test_of_many_requests_those_that_paid_most_are_named(recording: Make) -> None:
    rows: list[dict[str, Any]] = [{}, *({"tokens": 100 + place, "reason": "evicted"} for place in range(40))]
    finding = why_not_reused(facts(recording(rows)))
    assert finding.numbers["requests_evicted"] == 40
    assert finding.numbers["deciding_requests"] == list(range(30, 42))
    assert "40 requests: 30, " in finding.summary
    assert "41 among them." in finding.summary


def test_the_layer_that_refused_is_named(recording: Make) -> None:
    finding = why_not_reused(facts(recording([{}, {"matched": 90, "cached": 8, "reason": "refused_by_layer", "layer": "rotating"}])))
    assert finding.numbers["limiting_layer"] == "rotating"
    assert "rotating" in finding.summary


def test_one_request_says_nothing_about_reuse(recording: Make) -> None:
    assert why_not_reused(facts(recording([{}]))).verdict == "not_enough_data"


def test_an_answer_is_judged_only_when_it_was_checked(recording: Make) -> None:
    rows = [{}, {"matched": 3, "cached": 3}]
    wrong = WrongPositions(group=0, layer="kv", start=2, end=3, belongs_to=1, request=2)
    assert is_the_answer_right(facts(recording(rows))).verdict == "not_enough_data"
    # a real run's tokens are verified on their twin
    assert is_the_answer_right(facts(recording(rows, checked=True))).verdict == "identical"
    assert is_the_answer_right(facts(recording(rows, checked=True, source="twin"))).verdict == "identical"
    assert is_the_answer_right(facts(recording(rows)), checked=True).verdict == "identical"
    found = is_the_answer_right(facts(recording(rows, extra=[wrong])))
    assert found.verdict == "wrong_state_restored"
    assert (found.numbers["wrong_positions"], found.numbers["belongs_to_request"], found.numbers["restored_tokens"]) == (1, 1, 3)


def test_a_violation_shows_that_the_run_was_checked_and_is_named(recording: Make) -> None:
    found = is_the_answer_right(facts(recording([{}], source="twin", extra=[Violation(rule="edges", message="x", request=1)])))
    assert (found.verdict, found.numbers["broken_rules"]) == ("not_enough_data", 1)
    assert "edges" in found.summary


def test_findings_are_json_and_text_and_answer_by_question(recording: Make) -> None:
    findings = diagnose(recording([{"counted": 9 * place, "predicted": 9 * place} for place in range(6)]))
    data = json.loads(json.dumps(findings.to_dict()))
    keys = {"question", "verdict", "summary", "numbers", "confidence", "evidence", "refuted_by", "missing"}
    assert [set(finding) for finding in data["findings"]] == [keys] * len(findings)
    assert next(finding.question for finding in findings) == "budget_or_leak"
    for finding in findings:
        assert finding.verdict in str(findings)
        assert finding.confidence in ("high", "medium", "low")
    assert findings.about("why_not_reused").question == "why_not_reused"
    with pytest.raises(BadValue, match="why_so_blue"):
        findings.about("why_so_blue")
