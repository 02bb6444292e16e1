"""What `kvlab reproduce` returns: rows, tables with them, and the score; as text and as JSON."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kvlab.studies.reproduce.published import BY_CONSTRUCTION, FITTED, GIVEN, PREDICTED, VERDICTS, Published
from kvlab.studies.reproduce.score import AGAIN, Row, Score, judge
from kvlab.views import text_table

WIDTH = 150
COLUMNS = ("figure", "published", "ours", "of ours", "difference", "verdict", "proof")
WORDS = ("meaning", "why")
"""Columns of tables that hold sentences."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table that goes with the rows: constants and residuals, remedies. Its cells are text or plain numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def __str__(self) -> str:
        left = (0, *(place for place, name in enumerate(self.columns) if name in WORDS))
        return f"{self.title}\n{textwrap.indent(text_table.columns(self.columns, self.rows, left=left), '  ')}"


@dataclass(frozen=True, slots=True)
class Made:
    """One experiment made again: our figures by id, each in its figure's unit, and tables that go with them."""

    figures: Mapping[str, float | None]
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """One experiment: what was published and what was made."""

    published: Published
    rows: tuple[Row, ...]
    tables: tuple[Table, ...] = field(default=())

    @classmethod
    def of(cls, published: Published, made: Made) -> Part:
        """Compare what was made with what was published."""
        rows = tuple(judge(published, figure, made.figures.get(figure.id)) for figure in published.figures)
        return cls(published, rows, made.tables)


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All experiments that were made."""

    parts: tuple[Part, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        """All rows, in order."""
        return tuple(row for part in self.parts for row in part.rows)

    @property
    def agrees(self) -> bool:
        """Whether every row that is expected to be exact or within is."""
        return all(row.agrees for row in self.rows)

    @property
    def score(self) -> Score:
        """What the rows prove."""
        return Score(self.rows)

    def counts(self) -> dict[str, int]:
        """Return how many rows have each verdict, whatever they prove."""
        return {verdict: sum(row.verdict == verdict for row in self.rows) for verdict in VERDICTS}

    def to_dict(self) -> dict[str, Any]:
        """Return rows, tables, the score and the count of all verdicts as JSON holds them."""
        tables = [
            {"experiment": part.published.name, "title": one.title, "rows": [dict(zip(one.columns, row, strict=True)) for row in one.rows]}
            for part in self.parts
            for one in part.tables
        ]
        rows = [row.to_dict() for row in self.rows]
        return {"rows": rows, "tables": tables, "score": self.score.to_dict(), "verdicts": self.counts(), "agrees": self.agrees}

    def __str__(self) -> str:
        return "\n\n".join([*(_part_text(part) for part in self.parts), self.score.text(WIDTH), self._last_line()])

    def _last_line(self) -> str:
        differing = [row.name for row in self.rows if not row.agrees]
        rows = f"{len(self.rows)} row{'' if len(self.rows) == 1 else 's'}"
        return f"{rows}, not as stored: {', '.join(differing)}" if differing else f"{rows}, each verdict as stored with its figure"


def _part_text(part: Part) -> str:
    published = part.published
    cells = [(row.figure.figure, row.figure.text, _ours(row), row.figure.compared, _difference(row), row.verdict, _proof(row)) for row in part.rows]
    lines = [
        f"{published.name} ({published.source}): {published.about}",
        textwrap.indent(text_table.columns(COLUMNS, cells, left=(0, 3, 5, 6)), "  "),
    ]
    lines += _lines("tolerance", part.rows, [f"{row.figure.margin}: {row.figure.reason}" if row.figure.margin else "" for row in part.rows])
    lines += _lines("fitted", part.rows, [str(row.figure.fit) if row.figure.proof == FITTED else "" for row in part.rows])
    lines += _lines("held out", part.rows, [str(row.figure.fit) if row.figure.fit and row.figure.proof == PREDICTED else "" for row in part.rows])
    for word in (GIVEN, BY_CONSTRUCTION):
        lines += _lines(word, part.rows, [row.figure.because if row.figure.proof == word else "" for row in part.rows])
    lines += _lines(AGAIN, part.rows, [f"ours is that of {row.figure.same_as}" if row.figure.same_as else "" for row in part.rows])
    lines += _lines("note", part.rows, [row.figure.note for row in part.rows])
    return "\n".join([*lines, *(textwrap.indent(str(one), "  ") for one in part.tables)])


def _lines(word: str, rows: Sequence[Row], texts: Sequence[str]) -> list[str]:
    """Return a paragraph for each text, said once for all rows that share it."""
    by_text: dict[str, list[str]] = {}
    for row, text in zip(rows, texts, strict=True):
        if text:
            by_text.setdefault(text, []).append(row.figure.figure)
    return [
        textwrap.fill(
            f"{word}, {names[0]}{f' and {len(names) - 1} more' if len(names) > 1 else ''}: {text}", WIDTH, initial_indent="  ", subsequent_indent="    "
        )
        for text, names in by_text.items()
    ]


def _proof(row: Row) -> str:
    return f"{row.figure.proof}, {AGAIN}" if row.figure.same_as else row.figure.proof


def _ours(row: Row) -> str | None:
    if row.ours is None:
        return None
    decimals = row.figure.decimals + (0 if row.verdict == "exact" else 1) if not row.figure.cut else 2
    text = f"{row.ours:.{decimals}f}"
    return f"{text.removeprefix('-') if float(text) == 0 else text} {row.figure.unit}".rstrip()


def _difference(row: Row) -> str | None:
    difference = row.difference
    if difference is None:
        return None
    if row.figure.cut and row.verdict == "exact":
        return "0"
    return "0" if abs(difference) < 0.5 * 10 ** -(row.figure.decimals + 1) else f"{difference:+.{row.figure.decimals + 1}f}"
