"""Rows under a heading as tools print them: what a cell is, is said by the heading above it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvlab.importers.formats import Columns, Format

_GAP = re.compile(r"\s{2,}|\t")
_FREE = frozenset({"command", "process"})
"""Fields that may have blanks inside."""


class Rows:
    """The rows under one heading.

    Attributes:
        spec: What its cells are.
    """

    __slots__ = ("_fields", "_free", "_tabs", "spec")

    def __init__(self, spec: Columns, heading: str) -> None:
        self.spec = spec
        self._tabs = "\t" in heading
        titles = [title.lower() for title in self._split(heading)]
        known = {title.lower(): name for title, name in spec.fields.items()}
        self._fields = [known.get(title, "") for title in titles]
        free = [place for place, name in enumerate(self._fields) if name in _FREE]
        # of several the last one, if it ends the line: a command has arguments
        self._free = next((place for place in reversed(free) if place == len(titles) - 1), free[0] if free else len(titles) - 1)

    def fields(self, text: str) -> dict[str, tuple[str, int]] | None:
        """Return the fields of a row, each with where it begins; None when the line is no row of these."""
        cells, count = self._split(text), len(self._fields)
        if len(cells) > count and not self._tabs and self.spec.split == "words":
            extra = len(cells) - count
            cells = [*cells[: self._free], " ".join(cells[self._free : self._free + extra + 1]), *cells[self._free + extra + 1 :]]
        if len(cells) != count:
            return None
        found: dict[str, tuple[str, int]] = {}
        at = 0
        for name, cell in zip(self._fields, cells, strict=True):
            at = max(at, text.find(cell.split(" ")[0], at))
            parts = zip(name.split(" / "), cell.split(" / "), strict=False) if " / " in name else ((name, cell),)
            place = at
            for one, value in parts:
                place = max(place, text.find(value, place))
                if one:
                    found.setdefault(one, (value.rstrip("+-") if value[:1].isdigit() else value, place))
                place += len(value)
            at += len(cell) if text.startswith(cell, at) else 1
        pid = found.get("pid")
        return None if pid is not None and not (pid[0].isascii() and pid[0].isdecimal()) else found

    def _split(self, text: str) -> list[str]:
        if self._tabs:
            return [cell.strip() for cell in text.split("\t")]
        return text.split() if self.spec.split == "words" else [cell for cell in _GAP.split(text.strip()) if cell]


def heading_of(formats: Sequence[Format], text: str) -> Rows | None:
    """Return the rows that will follow a heading; None when a line is none."""
    if not text or len(text) > 400:
        return None
    return next((Rows(spec, text) for one in formats for spec in one.columns if spec.heading.search(text)), None)
