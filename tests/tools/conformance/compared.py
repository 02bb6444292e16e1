"""A conformance table made now, held against the published one.

The file is JSON with one row a line. It holds no times, and figures of one digit, so that the same versions on the same machine write the same file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvlab.output_file import headed, replacing
from kvlab.recording import computer
from kvlab.studies.conformance import OK, Row, Table, failing, largest_difference, verdict_of
from kvlab.views import text_table
from tests.tools import conformance

TABLE = headed("a table of conformance", lambda head: head.startswith(b'{\n  "mlx": ') and b'\n  "mlx_lm": ' in head)


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
    differs = tuple(field for field in fields if _reading(field, before) != _reading(field, now))
    verdict = "differs" if differs else "same"
    if differs and other_device and "Metal" in f"{before['result']} {now['result']}":
        verdict = "other device"
    return Compared(now["architecture"], before, now, differs, verdict)


def _reading(field: str, row: Row) -> object:
    """Return what has to agree: of a figure that it passed, of a result whether it is ok."""
    value = row.get(field)
    if field == "result":
        return value == OK
    return "a figure" if isinstance(value, float) else value


def to_dict(now: Table, before: Table | None) -> dict[str, Any]:
    """Return both tables and the verdicts as JSON holds them."""
    rows = [
        {"architecture": one.architecture, "published": one.published, "now": one.now, "differs": list(one.differs), "verdict": one.verdict}
        for one in compared(now, before)
    ]
    return {"now": now.made_with, "published": before.made_with if before else None, "conform": now.passed, "rows": rows, "agrees": agrees(now, before)}


def agrees(now: Table, before: Table | None) -> bool:
    """Whether no row differs from the published one."""
    return all(one.verdict != "differs" for one in compared(now, before))


def as_text(now: Table, before: Table | None) -> str:
    """Return published and now side by side, what does not conform and why, and the verdict."""
    rows = compared(now, before)
    titles = ("architecture", "caches", "published", "now", "cached-cold published", "now", "verdict")
    cells = [
        (
            one.architecture,
            one.now.get("caches"),
            one.published and verdict_of(one.published),
            verdict_of(one.now),
            one.published and largest_difference(one.published),
            largest_difference(one.now),
            f"{one.verdict}: {', '.join(one.differs)}" if one.differs else one.verdict,
        )
        for one in rows
    ]
    return "\n\n".join([text_table.columns(titles, cells, left=(0, 1, 2, 3, 6)), *failing(now), _verdict(now, before)])


def _verdict(now: Table, before: Table | None) -> str:
    counted = f"{now.passed} of {len(now.rows)} architectures conform"
    if before is None:
        return f"{counted}; no table is published yet"
    differing = sum(one.verdict == "differs" for one in compared(now, before))
    versions = [f"{key} {now.made_with[key]} (published {before.made_with.get(key)})" for key in ("mlx", "mlx_lm", "device")]
    return f"{counted}; {differing or 'no'} {'row differs' if differing == 1 else 'rows differ'} from the published table; {', '.join(versions)}"
