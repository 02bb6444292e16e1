"""What a recording can be written as for other programs, by name. A new way is a function and a line in `EXPORTERS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kvlab.errors import BadValue, require_path
from kvlab.output_file import HEAD, FileKind, headed, reason, replacing, require_replaceable, unwritable
from kvlab.recording import Recording
from kvlab.views.chrome_trace import write_chrome_trace

TABLES = ("requests", "bytes", "nodes", "spans", "observed")
"""The tables that are written as CSV."""


@dataclass(frozen=True, slots=True)
class Exporter:
    """One way: what it writes in words, the end of its usual name, and the function that writes it and returns what it wrote."""

    about: str
    suffix: str
    write: Callable[[Recording, Path, bool], tuple[Path, ...]]


def _chrome_trace(recording: Recording, out: Path, force: bool) -> tuple[Path, ...]:  # noqa: FBT001  one shape for all
    return (write_chrome_trace(recording, out, force=force),)


def _csv(recording: Recording, out: Path, force: bool) -> tuple[Path, ...]:  # noqa: FBT001  one shape for all
    """Write the tables into a folder, a file each; a list of warnings becomes one text."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(out, reason(error)) from None
    tables = {name: getattr(recording, name) for name in TABLES}
    tables["requests"] = tables["requests"].with_columns(tables["requests"].get_column("warnings").list.join("; "))
    kinds = {name: _table_kind(table.columns) for name, table in tables.items()}
    paths = {name: out / f"{name}.csv" for name in TABLES}
    # all or none: a stranger's file is found before the first is written
    for name, path in paths.items():
        require_replaceable(path, kinds[name], force=force)
    for name, path in paths.items():
        with replacing(path, kinds[name], force=force) as file:
            tables[name].write_csv(file)
    return tuple(paths.values())


def _table_kind(columns: list[str]) -> FileKind:
    heading = f"{','.join(columns)}\n".encode()
    return headed("a table", lambda head: head.startswith(heading[:HEAD]))


EXPORTERS: dict[str, Exporter] = {
    "chrome-trace": Exporter(
        "a trace that chrome://tracing and Perfetto open: requests, phases, layers, bytes by owner, restores", ".trace.json", _chrome_trace
    ),
    "csv": Exporter(f"a folder with the tables {', '.join(TABLES)}, a CSV file each; byte columns are whole bytes", ".csv.d", _csv),
}
"""Every way by its name."""


def export(recording: Recording, way: str, out: str | Path, *, force: bool = False) -> tuple[Path, ...]:
    """Write a recording as `way` says; return the files that were written.

    Raises:
        BadValue: there is no such way, or a file is there that an export did not make and it is not forced.
        UnreadableInput: the place cannot be written; then what is there is as it was.
    """
    if way not in EXPORTERS:
        raise BadValue(what=f"a recording cannot be written as {way!r}", why=f"the ways are {', '.join(EXPORTERS)}", hint="name one of them")
    return EXPORTERS[way].write(recording, require_path(out), force)
