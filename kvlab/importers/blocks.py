"""Outputs of tools, one after another in one text, as a watching script writes them: each with what reads it, under lines that name the moment.

A section says of each line whether it is its own. The one that took the last line is asked first, then the others; what nobody takes is counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock, find_moment
from kvlab.importers.summary import KNOWN, NOT, READ, Summary

SEPARATOR = re.compile(r"[\s=#*\-]*(?:(?:date|time|ts|at):?\s*)?\d{4}-\d\d-\d\d[T ]\d\d:\d\d[\d:.,]*(?:Z|[+-]\d\d:?\d\d)?[\s=#*\-]*")
_RULE = re.compile(r"[\s=\-_*+|]+")

LONGEST = 2_000
"""Letters of a line that are looked at: no tool's figures stand further right."""


class Output:
    """Where a section writes, and the moment it writes about.

    Attributes:
        rows: The rows.
        at: The moment as it was found; "" before one is named.
        model: The first model that was named.
    """

    __slots__ = ("at", "model", "rows")

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.at = ""
        self.model = ""

    def figure(self, gauge: str, count: int, *, unit: str, step: int | None, label: str = "", pid: int | None = None) -> None:
        """Write observed bytes; `step` is the bytes between this print and the next one that differs."""
        self.rows.add("observed", gauge, label[:200], count, None, None, unit, step, pid, self.at)

    def number(self, gauge: str, number: float, *, unit: str = "", label: str = "") -> None:
        """Write an observed figure that is not bytes."""
        self.rows.add("observed", gauge, label[:200], None, number, None, unit, None, None, self.at)

    def words(self, gauge: str, words: str, *, label: str = "") -> None:
        """Write what was observed in words."""
        self.rows.add("observed", gauge, label[:200], None, None, words[:120], "", None, None, self.at)


class Section(Protocol):
    """One tool's output.

    Attributes:
        kind: The name under which it is known to `--as`.
    """

    kind: str

    def take(self, text: str) -> str | None:
        """Read a line; return what became of it (`READ` or `KNOWN`), None when it is not this tool's."""
        ...

    def end(self) -> None:
        """The output ends: write what waits."""
        ...


class Blocks:
    """Reads a text of tools' outputs into rows.

    Attributes:
        kind: The first section's kind.
        clock: Turns moments into seconds.
        version: None: tools do not name the server's version.
    """

    version: str | None = None

    def __init__(self, rows: Rows, summary: Summary, sections: Sequence[Callable[[Output], Section]]) -> None:
        self._summary = summary
        self.output = Output(rows)
        self.clock = Clock()
        self._sections: list[Section] = [make(self.output) for make in sections]
        self._last: Section | None = None
        self.kind = self._sections[0].kind if len(self._sections) == 1 else "samples"

    @property
    def model(self) -> str:
        """The first model that was named; "" when none."""
        return self.output.model

    def lines(self, lines: Sequence[bytes]) -> None:
        """Read the next lines of the file."""
        for line in lines:
            self._summary.line += 1
            self._line(line[: 4 * LONGEST].decode("utf-8", "replace")[:LONGEST].rstrip())

    def finish(self) -> None:
        """The file ends."""
        self._end()

    def _line(self, text: str) -> None:
        summary = self._summary
        if not text.strip():
            summary.count("blank", KNOWN)
        elif SEPARATOR.fullmatch(text):
            self._end()
            self.output.at = find_moment(text)
            self.output.rows.t = self.clock.read(self.output.at)
            summary.count("moment", READ)
        elif not self._taken(text):
            if _RULE.fullmatch(text):
                summary.count("rule", KNOWN)
            elif text.lstrip().startswith("#"):
                summary.count("comment", KNOWN)
            else:
                summary.count("other text", NOT, text)

    def _taken(self, text: str) -> bool:
        last = self._last
        for section in self._sections if last is None else [last, *(one for one in self._sections if one is not last)]:
            became = section.take(text)
            if became is not None:
                if last is not None and section is not last:
                    last.end()
                self._last = section
                self._summary.count(section.kind, became, text)
                return True
        return False

    def _end(self) -> None:
        if self._last is not None:
            self._last.end()
        self._last = None
