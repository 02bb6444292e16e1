"""Summary: what an importer made of every line, by kind, so that nothing is dropped in silence.

Invariants: the counts of all kinds add up to the lines of the file; at most `MOST` kinds have names of their own, the others are counted together.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kvlab.events import UNDERSTOOD
from kvlab.visible_text import visible

READ, KNOWN, NOT = UNDERSTOOD

MOST = 400
"""Kinds that are counted apart."""

OTHERS = "other lines"


@dataclass(slots=True)
class LineKind:
    """Lines of one kind.

    Attributes:
        name: The kind's name.
        understood: What was made of them, one of `UNDERSTOOD`.
        count: How many there are.
        line: The first one's line, from 1; 0 when not noted.
        example: How the first one begins.
    """

    name: str
    understood: str
    count: int = 0
    line: int = 0
    example: str = ""


@dataclass(slots=True)
class Summary:
    """What became of a file's lines.

    Attributes:
        kinds: By name and `UNDERSTOOD`.
        line: The number of the line that is read now, from 1.
        partly: How many lines that count as not understood have figures that were read all the same.
        notes: What else the reader has to know, such as columns that no question reads.
    """

    kinds: dict[tuple[str, str], LineKind] = field(default_factory=dict[tuple[str, str], LineKind])
    line: int = 0
    partly: int = 0
    notes: list[str] = field(default_factory=list[str])

    def count(self, name: str, understood: str, line: bytes | str = b"", times: int = 1) -> None:
        """Count lines of a kind; `line` is how the first one begins."""
        if not times:
            return
        kind = self.kinds.get((name, understood))
        if kind is None:
            if len(self.kinds) >= MOST and name != OTHERS:
                self.count(OTHERS, understood, line, times)
                return
            kind = self.kinds[name, understood] = LineKind(name, understood, 0, self.line, _begin(line))
        kind.count += times

    def total(self, understood: str | None = None) -> int:
        """Return how many lines there are, or how many of them became what `understood` says."""
        return sum(kind.count for kind in self.kinds.values() if understood in (None, kind.understood))

    def of(self, understood: str) -> dict[str, int]:
        """Return the kinds of which that became, with their counts, the most first."""
        found = [kind for kind in self.kinds.values() if kind.understood == understood and kind.count]
        return {kind.name: kind.count for kind in sorted(found, key=lambda kind: -kind.count)}

    def __str__(self) -> str:
        lines = [f"{self.total():,} lines: {self.total(READ):,} read, {self.total(KNOWN):,} known without figures, {self.total(NOT):,} not understood"]
        lines += [
            f"  not understood: {kind.count:,} x {kind.name}" + (f", first in line {kind.line}: {kind.example}" if kind.example else "")
            for kind in sorted(self.kinds.values(), key=lambda kind: -kind.count)
            if kind.understood == NOT and kind.count
        ]
        return visible("\n".join([*lines, *(f"  {note}" for note in self.notes)]))


def _begin(line: bytes | str) -> str:
    text = line.decode("utf-8", "replace") if isinstance(line, bytes) else line
    shown = "".join(letter if letter.isprintable() else " " for letter in text[:80]).strip()
    return shown + ("…" if len(text) > 80 else "")
