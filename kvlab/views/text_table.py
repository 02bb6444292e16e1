"""Tables as plain text: aligned columns for a terminal and for the text twin of a chart."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def columns(titles: Sequence[str], rows: Iterable[Sequence[object]], left: Iterable[int] = (0,)) -> str:
    """Return rows under their titles, right-aligned except for the columns in `left`; None is shown as `-`."""
    cells = [[str(title) for title in titles], *([("-" if value is None else str(value)) for value in row] for row in rows)]
    widths = [max(len(row[place]) for row in cells) for place in range(len(titles))]
    flush_left = set(left)
    lines = [
        "  ".join(cell.ljust(width) if place in flush_left else cell.rjust(width) for place, (cell, width) in enumerate(zip(row, widths, strict=True)))
        for row in cells
    ]
    return "\n".join(line.rstrip() for line in lines)


def many(count: int, noun: str) -> str:
    """Return `1 request`, `1,234 requests`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def shortened(rows: Sequence[Sequence[object]], most: int) -> list[Sequence[object]]:
    """Return at most `most` rows: the first and the last ones, with a row of `…` between if some were left out."""
    if len(rows) <= most:
        return list(rows)
    head = most // 2
    return [*rows[:head], ["…"] * len(rows[0]), *rows[len(rows) - (most - head - 1) :]]
