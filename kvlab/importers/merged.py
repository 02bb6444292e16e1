"""Several files of one server as one recording, on one time axis: a log with samples of its bytes, a log in its rotated pieces.

Rules: logs are one log, in the order of their first moments. A sample after a request and before the next belongs to that request, unless a runner began
anew in between or nothing was listed any more. A moment without a zone is in the zone of the file that names one. A table that numbers requests without their
tokens, next to a log, numbers the log's. A file that names no moment comes after the others, and the summary says so.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import polars as pl

from kvlab.errors import BadValue
from kvlab.importers.inputs import Input
from kvlab.importers.kinds import Importer
from kvlab.importers.lines import head_of
from kvlab.importers.ollama_runners import ANEW
from kvlab.importers.read import UNKNOWN, Imported, import_file, kind_of, policy_of, read_into
from kvlab.importers.rows import KeptTables, Rows
from kvlab.importers.stamps import find_moment, seconds_between, zoned
from kvlab.importers.summary import Summary
from kvlab.recording import Manifest, Recorder

LOG = "ollama-log"


@dataclass(slots=True)
class _Part:
    """One file, or all logs: what was read, its tables, and its first moment."""

    name: str
    kind: str
    importer: Importer
    summary: Summary
    requests: int
    tables: list[pl.DataFrame] = field(default_factory=list[pl.DataFrame])


def import_files(paths: Sequence[str | Path], kind: str | None = None, out: str | Path | None = None) -> Imported:
    """Read several files of one server into one recording; of a single one the same as `import_file`.

    Args:
        paths: The files, in any order.
        kind: What all of them are; by default each is recognised.
        out: The recording's folder; None for a temporary one.

    Raises:
        BadValue: one of them is a recording, or `out` cannot be used.
        UnreadableInput: one of them cannot be read, or is of no known kind.
    """
    if len(paths) == 1:
        return import_file(paths[0], kind, out)
    for path in paths:
        if Path(path).expanduser().is_dir() or str(path).endswith(".kvrec.zip"):
            raise BadValue(
                what=f"{Path(path).name!r} is a recording, and several files were given",
                why="files that are imported are read into one recording; a recording is one already",
                hint="name it alone; kvlab report RECORDING --also OTHER fills the checklist from several",
            )
    parts = _parts([Input(path) for path in paths], kind)
    summary = _summed(parts)
    first = next((part for part in parts if part.kind == LOG), parts[0])
    named = next((part.importer for part in [first, *parts] if part.importer.model), first.importer)
    version = next((part.importer.version for part in parts if part.importer.version), None)
    whole, began = _merged(parts, summary)
    origin = {"file": " + ".join(part.name for part in parts), "kind": first.kind, "began": began} | ({"ollama": version} if version else {})
    manifest = dataclasses.replace(Manifest.now(model=named.model or UNKNOWN, origin=origin, source=first.kind), policy=policy_of(version))
    with Recorder(manifest, out=out) as recorder:
        recorder.write_table(whole)
        recorder.finish()
    requests = whole.filter(pl.col("kind") == "request_began").height
    return Imported(first.kind, requests, whole.height, summary, recorder, first.importer)


def _parts(files: Sequence[Input], kind: str | None) -> list[_Part]:
    kinds = [kind_of(file, kind) for file in files]
    logs = sorted((file for file, found in zip(files, kinds, strict=True) if found == LOG), key=_first_moment)
    together = [(logs, LOG)] if logs else []
    together += [([file], found) for file, found in zip(files, kinds, strict=True) if found != LOG]
    return [_part(several, found) for several, found in together]


def _part(files: Sequence[Input], kind: str) -> _Part:
    kept, summary = KeptTables(), Summary()
    rows = Rows(kept, kind)
    importer = read_into(rows, summary, files[0], kind, files[1:], given=False)
    return _Part(" + ".join(file.name for file in files), kind, importer, summary, rows.requests, kept.tables)


def _first_moment(file: Input) -> float:
    return _since_1970(find_moment(head_of(file)))


def _since_1970(moment: str) -> float:
    return seconds_between("1970-01-01T00:00:00Z", moment) or 0.0


def _merged(parts: Sequence[_Part], summary: Summary) -> tuple[pl.DataFrame, str]:
    """Return the events of all parts in the order of time, numbered anew, and the first moment."""
    firsts = [part.importer.clock.first for part in parts]
    zone = next((first for first in firsts if first and _has_zone(first)), "")
    moments = [zoned(first, zone) for first in firsts]
    began = min((first for first in moments if first), key=_since_1970, default="")
    has_log = parts[0].kind == LOG and parts[0].requests > 0
    frames: list[pl.DataFrame] = []
    numbered = 0
    for place, (part, first) in enumerate(zip(parts, moments, strict=True)):
        events = pl.concat(part.tables, how="diagonal").sort("seq")
        of_log = has_log and place > 0 and part.requests > 0 and _only_numbers(events)
        if of_log:
            events = events.filter(~pl.col("kind").is_in(["request_began", "request_closed"]))
        elif numbered:
            events = events.with_columns(pl.when(pl.col("request") > 0).then(pl.col("request") + numbered).otherwise(0).alias("request"))
        numbered += 0 if of_log else part.requests
        since = seconds_between(began, first) if first else None
        if since is None:
            summary.notes.append(f"{part.name}: names no moment, so its figures come after those of the other files")
        # a file's own order stays, also where its moments step back
        key = pl.col("t").cum_max() + since if since is not None else pl.lit(float("inf"))
        frames.append(events.with_columns(key.alias("key"), (pl.col("t") + (since or 0.0)).alias("t"), pl.lit(place).alias("part")))
    whole = pl.concat(frames, how="diagonal").sort("key", "part", "seq")
    return _with_requests(whole).drop("key", "part").with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias("seq")), began


def _with_requests(events: pl.DataFrame) -> pl.DataFrame:
    """Return the events with figures between two requests as those of the first one."""
    kind = pl.col("kind")
    anew = kind.eq("listed") & pl.col("count").eq(0) if "count" in events.columns else pl.lit(value=False)
    if "state" in events.columns:
        anew = anew | (kind.eq("runner_changed") & pl.col("state").is_in(ANEW))
    last = pl.when(kind == "request_began").then(pl.col("request")).when(anew).then(0).otherwise(None).forward_fill().fill_null(0)
    return events.with_columns(pl.when(kind.eq("observed") & pl.col("request").eq(0)).then(last).otherwise(pl.col("request")).alias("request"))


def _only_numbers(events: pl.DataFrame) -> bool:
    began = events.filter(pl.col("kind") == "request_began")
    return not began.height or bool(began.get_column("tokens").is_null().all())


def _has_zone(moment: str) -> bool:
    try:
        return datetime.fromisoformat(moment).tzinfo is not None
    except ValueError:
        return False


def _summed(parts: Sequence[_Part]) -> Summary:
    whole = Summary()
    for part in parts:
        for one in part.summary.kinds.values():
            whole.line = one.line
            whole.count(one.name, one.understood, f"{part.name}: {one.example}" if one.example else "", one.count)
        whole.notes += [f"{part.name}: {note}" for note in part.summary.notes]
    return whole
