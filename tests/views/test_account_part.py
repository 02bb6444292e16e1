"""The text of an import over which its figures are marked: nothing of the text is lost or becomes markup, and each figure says what became of it."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import pytest

from kvlab.importers import import_file
from kvlab.importers.account import Account
from kvlab.views.account_part import LONGEST, MOST_LINES, account_part

PASTE = """NAME                ID              SIZE     PROCESSOR    CONTEXT    UNTIL
lab-27b-mlx         4b2c1d0e9f8a    26 GB    100% GPU     65536      4 minutes from now

<b>after 60 calls</b> & "more" of 17 chats
"""
_MARKED = re.compile(r'<mark title="taken as (?P<what>[^"]*)">(?P<taken>[^<]*)</mark>|<span [^>]*title="left: (?P<why>[^"]*)">(?P<left>[^<]*)</span>')


def _part(folder: Path, text: str) -> str:
    path = folder / "paste.txt"
    path.write_text(text)
    return account_part(import_file(path).account)


def test_what_is_shown_is_the_text(tmp_path: Path) -> None:
    shown = re.search(r"<pre[^>]*>(.*)</pre>", _part(tmp_path, PASTE))
    assert shown is not None
    assert "<b>" not in shown[1]
    assert unescape(re.sub(r"<(?!br)[^>]*>", "", shown[1])).split("<br>") == PASTE.rstrip("\n").split("\n")


def test_a_figure_says_what_became_of_it(tmp_path: Path) -> None:
    found = [*_MARKED.finditer(_part(tmp_path, PASTE))]
    taken = {one["taken"]: one["what"] for one in found if one["taken"]}
    left = {one["left"]: one["why"] for one in found if one["left"]}
    assert taken["26 GB"] == "size"
    assert taken["65536"] == "context"
    assert left["17"] == left["60"] == "the line is of no kind that is known"


def test_the_sum_over_the_text_is_of_all_its_figures(tmp_path: Path) -> None:
    part = _part(tmp_path, PASTE)
    found = [*_MARKED.finditer(part)]
    taken = sum(bool(one["what"]) for one in found)
    assert f"{taken:,} taken (marked), {len(found) - taken:,} left (dotted)" in part


@pytest.mark.parametrize("figures", [[(0, 1), (0, 1)], [(0, 4), (2, 5)], [(3, 90)]])
def test_places_that_overlap_or_are_outside_lose_no_text(figures: list[tuple[int, int]]) -> None:
    account = Account()
    account.line(1, "1234567 <i>", "read")
    for start, end in figures:
        account.take(1, start, end, "size")
    shown = re.search(r"<pre[^>]*>(.*)</pre>", account_part(account))
    assert shown is not None
    assert unescape(re.sub(r"<[^>]*>", "", shown[1])) == "1234567 <i>"


def test_a_long_text_is_cut() -> None:
    account = Account()
    for number in range(1, MOST_LINES + 10):
        account.line(number, "7 " + "x" * 2 * LONGEST, "not_understood")
    assert len(account_part(account)) < 2 * MOST_LINES * LONGEST


def test_nothing_accounted_for_is_no_part() -> None:
    assert account_part(Account()) == ""
