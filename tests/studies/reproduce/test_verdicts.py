"""Verdicts, names and exit codes of `kvlab reproduce`."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from kvlab import shipped
from kvlab.cli import main
from kvlab.errors import BadValue, UnreadableInput
from kvlab.studies import reproduce
from kvlab.studies.reproduce.published import Figure, Published, published
from kvlab.studies.reproduce.result import Made, Part
from kvlab.studies.reproduce.score import judge


def figure(**choices: Any) -> Figure:
    given: dict[str, Any] = {"low": 25.0, "high": 25.0, "expected": "exact", "proof": "predicted", "decimals": 1} | choices
    return Figure(id="f", figure="a figure", unit="GiB", compared="reported", **given)


@pytest.mark.parametrize(
    ("printed", "ours", "verdict", "agrees", "difference"),
    [
        (figure(), 24.951, "exact", True, -0.049),
        (figure(), 24.949, "unexplained", False, -0.051),
        (figure(low=26, high=26, cut=True), 26.99, "exact", True, 0.99),
        (figure(low=26, high=26, cut=True), 25.99, "unexplained", False, -0.01),
        (figure(expected="within", tolerance=0.2, reason="r"), 25.2, "within", True, 0.2),
        (figure(expected="within", tolerance=0.2, reason="r"), 25.3, "unexplained", False, 0.3),
        (figure(expected="within", tolerance=0.2, reason="r"), 25.04, "exact", True, 0.04),
        (figure(low=28, high=30, expected="within", tolerance=0, reason="r"), 29.0, "within", True, 0),
        (figure(low=28, high=30, expected="within", tolerance=0, reason="r"), 30.1, "unexplained", False, 0.1),
        (figure(low=28, high=30, expected="within", tolerance=0, reason="r", cut=True), 30.9, "within", True, 0.9),
        (figure(expected="unexplained", note="n"), 25.0, "unexplained", True, 0),
        (figure(expected="unexplained", note="n"), None, "unexplained", True, None),
        (figure(), None, "unexplained", False, None),
    ],
)
def test_verdict(printed: Figure, ours: float | None, verdict: str, difference: float | None, *, agrees: bool) -> None:
    row = judge(Published("X", "here", "it", (printed,)), printed, ours)
    assert (row.verdict, row.agrees) == (verdict, agrees)
    assert row.difference == (None if difference is None else pytest.approx(difference))


def test_a_row_that_differs_is_named_in_the_last_line() -> None:
    part = Part.of(Published("X", "here", "it", (figure(),)), Made({"f": 3.0}))
    assert str(reproduce.Reproduction((part,))).splitlines()[-1] == "1 row, not as stored: X f"


@pytest.mark.parametrize("name", ["C9", "a12", "../A1", ""])
def test_an_unknown_name_lists_those_there_are(name: str) -> None:
    with pytest.raises(BadValue) as error:
        reproduce.names_of(name)
    assert error.value.exit_code == 2
    assert repr(name) in error.value.what
    assert all(known in error.value.why for known in (*reproduce.MAKERS, "conformance"))


@pytest.mark.parametrize(
    ("name", "found"),
    [("a", ("A1", "A2", "A3")), ("d4", ("D4",)), ("#18267", ("18267",)), ("b", ("B",)), ("C", ("C1",)), ("e", ("E1", "E2")), (None, tuple(reproduce.MAKERS))],
)
def test_names(name: str | None, found: tuple[str, ...]) -> None:
    assert reproduce.names_of(name) == found


def test_the_command_prints_rows_and_leaves_with_1_when_one_differs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "states", "--json"]) == 0
    assert [row["verdict"] for row in json.loads(capsys.readouterr().out)["rows"]] == ["within", "within"]
    monkeypatch.setitem(reproduce.MAKERS, "states", lambda _: Made({"gemma4_26b_checkpoint": 100.0, "kv36_per_token": 144.6}))
    assert main(["reproduce", "states"]) == 1
    assert "not as stored: states gemma4_26b_checkpoint" in capsys.readouterr().out


def test_the_command_refuses_what_belongs_to_conformance(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["reproduce", "B", "--only", "lfm2"]) == 2
    assert main(["reproduce", "--out", "x.json"]) == 2
    assert main(["reproduce", "Z9"]) == 2
    assert "there is no published experiment 'Z9'" in capsys.readouterr().err


HELD = {"id": "f", "figure": "f", "value": 1, "unit": "", "compared": "nodes", "expected": "exact", "proof": "predicted"}
FITS = {"one": {"what": "a constant", "figures": ["f"]}, "words": {"what": "a constant", "figures": ["a figure without a row"]}}


@pytest.mark.parametrize(
    "broken",
    [
        "[]",
        "no json",
        {"value": 1},
        HELD | {"expected": "within"},
        HELD | {"tolerance": 1, "reason": "r"},
        HELD | {"expected": "unexplained"},
        HELD | {"expected": "unexplained", "note": "the twin cannot"},
        HELD | {"expected": "perhaps"},
        HELD | {"colour": "red"},
        HELD | {"compared": ""},
        {name: value for name, value in HELD.items() if name != "compared"},
        {name: value for name, value in HELD.items() if name != "proof"},
        HELD | {"proof": "proved"},
        # a fitted figure names its fit; a predicted one was not fitted on; the other two say why
        HELD | {"proof": "fitted"},
        HELD | {"proof": "fitted", "fit": "none of this name"},
        HELD | {"proof": "predicted", "fit": "one"},
        HELD | {"proof": "given"},
        HELD | {"proof": "by construction", "fit": "one"},
        HELD | {"same_as": "f"},
        HELD | {"same_as": "g"},
    ],
)
def test_a_damaged_file_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Any) -> None:
    text = broken if isinstance(broken, str) else json.dumps({"experiment": "X", "source": "s", "about": "a", "fits": FITS, "figures": [broken]})
    (tmp_path / "X.json").write_text(text)
    monkeypatch.setattr(shipped, "data", lambda _: tmp_path)
    with pytest.raises(UnreadableInput, match="no published figures"):
        published("X")


@pytest.mark.parametrize(
    ("choices", "printed"),
    [
        ({"proof": "fitted", "fit": "one"}, "fitted, f: a constant, taken from f"),
        ({"fit": "words"}, "held out, f: a constant, taken from a figure without a row"),
        ({"proof": "given", "because": "it was the input"}, "given, f: it was the input"),
        ({"proof": "by construction", "because": "it is always 1"}, "by construction, f: it is always 1"),
    ],
)
def test_a_row_prints_what_went_into_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, choices: dict[str, str], printed: str) -> None:
    held = {"experiment": "X", "source": "s", "about": "a", "fits": FITS, "figures": [HELD | choices]}
    (tmp_path / "X.json").write_text(json.dumps(held))
    monkeypatch.setattr(shipped, "data", lambda _: tmp_path)
    text = str(reproduce.Reproduction((Part.of(published("X"), Made({"f": 1.0})),)))
    assert printed in text
    scored = choices.get("proof", "predicted") == "predicted"
    assert f"Score: of {int(scored)} predicted figures, {int(scored)} exact" in text
    assert ("Not in it" in text) is not scored


def test_a_figure_of_ours_that_two_rows_show_is_scored_once() -> None:
    rows = (figure(), dataclasses.replace(figure(same_as="f"), id="g"), dataclasses.replace(figure(expected="unexplained", note="n"), id="h"))
    made = reproduce.Reproduction((Part.of(Published("X", "here", "it", rows), Made({"f": 25.0, "g": 25.0})),))
    assert made.score.head == "Score: of 2 predicted figures, 1 exact, 0 within, 1 unexplained (1 of them without a figure of ours)"
    assert made.to_dict()["score"]["not_in_it"] == {"fitted": [], "given": [], "by construction": [], "shown again": ["X g"]}
