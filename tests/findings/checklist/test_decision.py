"""The decision reads the findings of every recording of one server: one bad one rules "stay" out."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlab.findings import Finding, Findings
from kvlab.findings.checklist import NEEDED, SERIES, checklist, decide
from kvlab.importers import import_file
from tests.findings.outside.seen import sizes

REPORTS = Path(__file__).parents[2] / "fixtures" / "reports" / "pasted"
KNOWN: dict[str, str] = dict.fromkeys(NEEDED, "known")


def findings(**verdicts: str) -> Findings:
    return Findings(tuple(Finding(question, verdict, "", {}, "high", (), "") for question, verdict in verdicts.items()))


GOOD = findings(budget_or_leak="budget", what_will_unload_give_back="all_but_process_base", will_it_fit="fits")


def test_bounded_growth_and_a_proved_unload_may_stay() -> None:
    assert decide([GOOD, findings(budget_or_leak="not_enough_data")], KNOWN)[0] == "stay"


@pytest.mark.parametrize(
    ("bad", "decision"),
    [
        ({"what_will_unload_give_back": "process_left_behind"}, "move"),
        ({"budget_or_leak": "heap_growth"}, "move"),
        ({"budget_or_leak": "leak"}, "move"),
        ({"who_holds_it": "leak"}, "move"),
        ({"budget_or_leak": "over_budget_by_design"}, "split"),
        ({"will_it_fit": "does_not_fit"}, "split"),
        ({"budget_or_leak": "unexplained"}, "undecided"),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_one_bad_recording_of_several_decides(bad: dict[str, str], decision: str, *, first: bool) -> None:
    both = [findings(**bad), GOOD] if first else [GOOD, findings(**bad)]
    assert decide(both, KNOWN)[0] == decision


@pytest.mark.parametrize("series", SERIES)
def test_a_missing_series_rules_out_to_stay(series: str) -> None:
    found, reason = decide([GOOD], {name: words for name, words in KNOWN.items() if name != series})
    assert (found, series in reason) == ("undecided", True)


@pytest.mark.parametrize("name", ["e2_session.txt", "stop.txt", "h_4.csv"])
def test_a_further_recording_that_went_wrong_is_read(name: str) -> None:
    flat = sizes((number, 18 * 2**30) for number in range(1, 13))
    assert checklist(flat).decision == "undecided"
    assert checklist(flat, also=[import_file(REPORTS / name).recording]).decision == "move"
