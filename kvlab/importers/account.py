"""What became of every figure of a text: taken as what, or left and why.

Invariants: places are letters of the line as it is read, without what was wrapped around it; at most `MOST` lines are accounted for, the summary counts all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from kvlab.importers.summary import KNOWN, READ

MOST = 5_000
"""Lines whose figures are accounted for."""

MOST_FIGURES = 200
"""Figures of one line that are shown."""

_FIGURE = re.compile(r"(?<![\w.])[-+\u2212~]?\d(?:[\d.,:/\u202f\u00a0]*\d)?(?:\s?(?:[KMGT]i?B?|bytes|tok/s|ms|s|%)(?![\w]))?")


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure of a text.

    Attributes:
        line: Its line, from 1.
        start: Its first letter in that line.
        text: How it is printed.
        taken: What it was taken as; "" when it was left.
        why: Why it was left; "" when it was taken.
    """

    line: int
    start: int
    text: str
    taken: str = ""
    why: str = ""


class Account:
    """Collects what was taken, line by line."""

    __slots__ = ("_lines", "_taken")

    def __init__(self) -> None:
        self._lines: dict[int, tuple[str, str]] = {}
        self._taken: dict[int, list[tuple[int, int, str]]] = {}

    def line(self, number: int, text: str, became: str) -> None:
        """Note a line, and what became of it, one of `UNDERSTOOD`."""
        if len(self._lines) < MOST:
            self._lines[number] = text, became

    def has(self, number: int) -> bool:
        """Return whether a line was noted."""
        return number in self._lines

    def take(self, number: int, start: int, end: int, what: str) -> None:
        """Note that letters [start, end) of a line were taken as `what`."""
        if start >= 0 and number < 2 * MOST:
            self._taken.setdefault(number, []).append((start, end, what))

    def lines(self) -> Iterator[tuple[int, str, list[Figure]]]:
        """Yield every line with its figures, those that were taken and those that were left."""
        for number, (text, became) in sorted(self._lines.items()):
            taken = sorted(self._taken.get(number, ()))
            figures = [Figure(number, start, text[start:end], what) for start, end, what in taken]
            why = "known, and no question reads it" if became in (READ, KNOWN) else "the line is of no kind that is known"
            figures += [
                Figure(number, found.start(), found[0], "", why)
                for found in islice(_FIGURE.finditer(text), MOST_FIGURES)
                if not any(start < found.end() and found.start() < end for start, end, _ in taken)
            ]
            yield number, text, sorted(figures, key=lambda one: one.start)

    def table(self) -> list[tuple[str, int, str, int]]:
        """Return a row for what figures were taken as, or why they were left: in words, how many, the first and its line; those that were taken come first."""
        rows: dict[tuple[bool, str], list[Figure]] = {}
        for one in self.figures():
            rows.setdefault((not one.taken, one.taken or f"left: {one.why}"), []).append(one)
        return [(name, len(found), found[0].text, found[0].line) for (_, name), found in sorted(rows.items(), key=lambda row: row[0][0])]

    def figures(self) -> list[Figure]:
        """Return the figures of all lines."""
        return [one for _, _, figures in self.lines() for one in figures]
