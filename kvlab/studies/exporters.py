"""What a recording can be written as for other programs, by name. A new way is a function and a line in `EXPORTERS`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from kvlab.errors import BadValue, UnreadableInput
from kvlab.importers.write_ollama_log import write_ollama_log
from kvlab.recording import Recording
from kvlab.views.chrome_trace import write_chrome_trace

TABLES = ("requests", "bytes", "nodes", "spans", "observed")
"""The tables that are written as CSV."""


@dataclass(frozen=True, slots=True)
class Exporter:
    """One way: what it writes in words, the end of its usual name, and the function that writes it and returns what it wrote."""

    about: str
    suffix: str
    write: Callable[[Recording, Path], tuple[Path, ...]]


def _ollama_log(recording: Recording, out: Path) -> tuple[Path, ...]:
    return (write_ollama_log(recording, out),)


def _chrome_trace(recording: Recording, out: Path) -> tuple[Path, ...]:
    return (write_chrome_trace(recording, out),)


def _csv(recording: Recording, out: Path) -> tuple[Path, ...]:
    """Write the tables into a folder, a file each; a list of warnings becomes one text."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        written: list[Path] = []
        for name in TABLES:
            table = getattr(recording, name)
            if name == "requests":
                table = table.with_columns(table.get_column("warnings").list.join("; "))
            path = out / f"{name}.csv"
            table.write_csv(path)
            written.append(path)
    except OSError as error:
        raise UnreadableInput(f"{str(out)!r} cannot be written", (error.strerror or str(error)).lower(), "choose a folder that you may write to") from None
    return tuple(written)


EXPORTERS: dict[str, Exporter] = {
    "chrome-trace": Exporter(
        "a trace that chrome://tracing and Perfetto open: requests, phases, layers, bytes by owner, restores", ".trace.json", _chrome_trace
    ),
    "csv": Exporter(f"a folder with the tables {', '.join(TABLES)}, a CSV file each; byte columns are whole bytes", ".csv.d", _csv),
    "ollama-log": Exporter("a log in the shape of Ollama's server.log at level TRACE", ".log", _ollama_log),
}
"""Every way by its name."""


def export(recording: Recording, way: str, out: str | Path) -> tuple[Path, ...]:
    """Write a recording as `way` says; return the files that were written.

    Raises:
        BadValue: there is no such way.
        UnreadableInput: the place cannot be written.
    """
    if way not in EXPORTERS:
        raise BadValue(what=f"a recording cannot be written as {way!r}", why=f"the ways are {', '.join(EXPORTERS)}", hint="name one of them")
    return EXPORTERS[way].write(recording, Path(out).expanduser().resolve())
