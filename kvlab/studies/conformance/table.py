"""The stored conformance table and its comparison with one made now.

The file is JSON with one row a line. It holds no times, and figures of one digit, so that the same versions on the same machine write the same file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvlab import shipped
from kvlab.errors import NotAvailable, UnreadableInput
from kvlab.models import conformance
from kvlab.output_file import headed, replacing
from kvlab.recording import computer
from kvlab.studies.conformance.matrix import Row
from kvlab.views import text_table

FILE = "conformance.json"
"""The published table, in `data/`."""

TABLE = headed("a table of conformance", lambda head: head.startswith(b'{\n  "mlx": ') and b'\n  "mlx_lm": ' in head)

OK = "ok"
CACHED = ("prefix", "chunks", "single")
"""The checks whose result is a figure that may differ in its last digits from one machine to the next."""


@dataclass(frozen=True, slots=True)
class Table:
    """A conformance table: what it was made with, and its rows."""

    made_with: dict[str, Any]
    rows: tuple[Row, ...]

    @property
    def passed(self) -> int:
        """Architectures that conform."""
        return sum(row["result"] == OK for row in self.rows)


@dataclass(frozen=True, slots=True)
class Compared:
    """One row now and as published: `verdict` is same, differs, new, or other device; `differs` names the fields."""

    architecture: str
    published: Row | None
    now: Row
    differs: tuple[str, ...]
    verdict: str


def of(rows: Sequence[Row]) -> Table:
    """Return rows made now as a table, with the versions of this machine."""
    from kvlab.models import blas, precision

    made_with = {
        "mlx": computer.version_of("mlx"),
        "mlx_lm": computer.version_of("mlx-lm"),
        "device": precision.device(),
        "blas": blas.route().used,
        "tokens": conformance.TOTAL,
        "prefix": conformance.PREFIX,
        "chunk": conformance.CHUNK,
        "tolerance": conformance.TOLERANCE,
    }
    return Table(made_with, tuple(rows))


def published() -> Table | None:
    """Return the table that is shipped; None when there is none.

    Raises:
        UnreadableInput: it cannot be read.
    """
    try:
        path = shipped.data(FILE)
    except NotAvailable:
        return None
    try:
        held = json.loads(path.read_text())
        return Table({key: value for key, value in held.items() if key != "rows"}, tuple(held["rows"]))
    except (ValueError, KeyError) as error:
        raise UnreadableInput(f"{path} is no conformance table", str(error), "install kvlab again") from error


def write(table: Table, path: Path, *, force: bool = False) -> None:
    """Write a table, one row a line.

    Raises:
        BadValue: a file is there that is no such table, and it is not forced.
        UnreadableInput: the file cannot be written; then what is there is as it was.
    """
    head = "".join(f"  {json.dumps(key)}: {json.dumps(value)},\n" for key, value in table.made_with.items())
    rows = ",\n".join(f"    {json.dumps(row)}" for row in table.rows)
    with replacing(path, TABLE, force=force) as file:
        file.write(f'{{\n{head}  "rows": [\n{rows}\n  ]\n}}\n'.encode())


def compared(now: Table, before: Table | None) -> list[Compared]:
    """Hold every row made now against the published one. Figures agree when they pass or fail alike."""
    known = {row["architecture"]: row for row in before.rows} if before else {}
    other_device = before is not None and before.made_with.get("device") != now.made_with.get("device")
    return [_compared(known.get(row["architecture"]), row, other_device=other_device) for row in now.rows]


def _compared(before: Row | None, now: Row, *, other_device: bool) -> Compared:
    if before is None:
        return Compared(now["architecture"], None, now, (), "new")
    fields = sorted((before.keys() | now.keys()) - {"architecture", "why"})
    differs = tuple(field for field in fields if _said(field, before) != _said(field, now))
    verdict = "differs" if differs else "same"
    if differs and other_device and "Metal" in f"{before['result']} {now['result']}":
        verdict = "other device"
    return Compared(now["architecture"], before, now, differs, verdict)


def _said(field: str, row: Row) -> object:
    """Return what has to agree: of a figure that it passed, of a result whether it is ok."""
    said = row.get(field)
    if field == "result":
        return said == OK
    return "a figure" if isinstance(said, float) else said


def largest_difference(row: Row | None) -> float | None:
    """Return the largest difference between cached and cold, as a share of the largest logit; None when there is none to tell."""
    figures = [row[name] for name in CACHED if isinstance(row.get(name), float)] if row else []
    return max(figures, default=None)


def as_text(now: Table, before: Table | None) -> str:
    """Return published and now side by side, what does not conform and why, and the verdict."""
    rows = compared(now, before)
    titles = ("architecture", "caches", "published", "now", "cached-cold published", "now", "verdict")
    cells = [
        (
            one.architecture,
            one.now.get("caches"),
            _short(one.published),
            _short(one.now),
            _figure(one.published),
            _figure(one.now),
            f"{one.verdict}: {', '.join(one.differs)}" if one.differs else one.verdict,
        )
        for one in rows
    ]
    parts = [text_table.columns(titles, cells, left=(0, 1, 2, 3, 6))]
    failing = [f"  {row['architecture']}: {row['result']}" + (f"\n    {row['why']}" if "why" in row else "") for row in now.rows if row["result"] != OK]
    if failing:
        parts.append("\n".join(["does not conform:", *failing]))
    parts.append(verdict(now, before))
    return "\n\n".join(parts)


def verdict(now: Table, before: Table | None) -> str:
    """Return the last line: how many conform, and how many rows differ from what is published with which versions."""
    counted = f"{now.passed} of {len(now.rows)} architectures conform"
    if before is None:
        return f"{counted}; no table is published yet"
    differing = sum(one.verdict == "differs" for one in compared(now, before))
    told = [f"{key} {now.made_with[key]} (published {before.made_with.get(key)})" for key in ("mlx", "mlx_lm", "device")]
    return f"{counted}; {differing or 'no'} {'row differs' if differing == 1 else 'rows differ'} from the published table; {', '.join(told)}"


def _short(row: Row | None) -> str | None:
    if row is None:
        return None
    return OK if row["result"] == OK else "fails"


def _figure(row: Row | None) -> str | None:
    figure = largest_difference(row)
    return None if figure is None else f"{figure:.0e}"
