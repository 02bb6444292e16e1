"""Recording: the events of a run, and the tables folded from them on first use.

Invariants: `events` is the only truth, the tables follow from it; a recording never changes. It holds its events itself, so
it stays right when the folder it came from is written over or removed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from kvlab.display import Rich
from kvlab.errors import BadValue, KvlabError, UnreadableInput, followed, require_path, require_type
from kvlab.events import BytesRead, Event
from kvlab.policy import Policy
from kvlab.recording import archive
from kvlab.recording.by_kind import EventTables
from kvlab.recording.caveats import READINGS, notes, trouble_words
from kvlab.recording.columns import frame
from kvlab.recording.fold_bytes import fold_bytes
from kvlab.recording.fold_nodes import fold_nodes
from kvlab.recording.fold_requests import SCHEMA, SECONDS, fold_requests
from kvlab.recording.fold_spans import fold_spans
from kvlab.recording.manifest import Manifest
from kvlab.recording.moment import Moment, Past, moment
from kvlab.recording.policy_words import policy_words
from kvlab.recording.readings import fold_observed, observed
from kvlab.recording.replay import replay, stored_tokens
from kvlab.shape import Shape
from kvlab.temporary import TemporaryFolder
from kvlab.units import binary
from kvlab.visible_text import visible

_AT_THE_END = ("counted", "live", "weights", "active")


class Recording(Rich):
    """What a run did.

    Attributes:
        manifest: What made it.
        tables: Its events, a table a kind: what every fold reads.
        path: The folder or archive it came from; None when it was never stored.
        damaged: Names of parts that are missing or cannot be read; their events are not in the tables.

    Example:
        >>> import kvlab
        >>> recording = kvlab.twin("smollm2").run("repeat:3", progress=False)
        >>> recording.requests.select("request", "tokens", "cached", "left").rows()
        [(1, 26, 0, 26), (2, 26, 25, 1), (3, 26, 25, 1)]
        >>> recording.at(recording.last).frontier == recording.rows(kvlab.events.FrontierMoved)["node"][-1]
        True
    """

    def __init__(
        self,
        manifest: Manifest,
        events: pl.DataFrame | EventTables,
        *,
        path: Path | None = None,
        damaged: tuple[str, ...] = (),
        folder: TemporaryFolder | None = None,
    ) -> None:
        self.manifest = manifest
        self.tables = events if isinstance(events, EventTables) else EventTables([events])
        self.path = path
        self.damaged = damaged
        self._folder = folder

    @classmethod
    def of(cls, manifest: Manifest, events: Sequence[Event]) -> Recording:
        """Return a complete recording of `events` that is stored nowhere yet; prompts and answers only when the manifest says so."""
        return cls(dataclasses.replace(manifest, events=len(events)), frame(events, store_text=manifest.stored_text))

    @cached_property
    def events(self) -> pl.DataFrame:
        """Every event, a row each, with the columns of `kvlab.events.COLUMNS`; built when it is read. `rows` has the events of a kind in much less room."""
        return self.tables.wide()

    def rows(self, *kinds: type[Event], columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Return its events of some kinds (of all when none is given), a row an event, in order.

        Args:
            kinds: Classes of `kvlab.events`.
            columns: Which columns; those of the kinds when none are named. What an event's kind does not have is null.
        """
        return self.tables.rows(*kinds, columns=columns)

    @property
    def complete(self) -> bool:
        """Whether the run reached its end and all its events are here."""
        return not self.damaged and self.manifest.events == self.count

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader has to know before the tables: that they are not the whole run, that a server was in trouble."""
        troubles = trouble_words(self.tables)
        if self.complete:
            return troubles
        what = "events are missing from this recording" if self.damaged else "this recording was cut short"
        return (f"{what}; it has {self._requests_words}", *troubles)

    @cached_property
    def policy(self) -> Policy | None:
        """The rules of the cache; None when they are not known.

        Raises:
            UnreadableInput: the manifest has a choice that this kvlab does not have.
        """
        try:
            return Policy.from_dict(self.manifest.policy) if self.manifest.policy else None
        except KvlabError as error:
            raise UnreadableInput(
                what=f"the rules of the cache in {self.path or 'the recording'} cannot be used: {error.what}",
                why=f"{error.why}; it was written by kvlab {self.manifest.kvlab}",
                hint="read it with the kvlab that wrote it",
            ) from None

    @cached_property
    def shape(self) -> Shape | None:
        """What the model keeps per token and checkpoint; None when it is not known."""
        return Shape.from_dict(self.manifest.shape) if self.manifest.shape else None

    @cached_property
    def requests(self) -> pl.DataFrame:
        """A row a request; columns and units in `fold_requests.SCHEMA`.

        A twin has no seconds: its model computes nothing, so what its own code took would be read as a model's speed.
        """
        table = fold_requests(self.tables)
        return table if self.has_seconds else table.with_columns(pl.lit(None, SCHEMA[name]).alias(name) for name in SECONDS)

    @property
    def has_seconds(self) -> bool:
        """Whether the times of its events are a model's."""
        return self.manifest.source != "twin"

    @cached_property
    def bytes(self) -> pl.DataFrame:
        """Every reading in long form; columns in `fold_bytes.SCHEMA`."""
        return fold_bytes(self.tables)

    @cached_property
    def readings(self) -> pl.DataFrame:
        """The observed readings as they were recorded: seq, t, request, phase and the fields of `kvlab.events.BytesRead`, a row a reading."""
        return observed(self.tables, ("seq", "t", "request", "phase", *(name for name in BytesRead.__slots__ if name != "phase")))

    @cached_property
    def nodes(self) -> pl.DataFrame:
        """Versions of the trie's nodes, each alive in [born, died); columns in `fold_nodes.SCHEMA`."""
        return fold_nodes(self.tables)

    @cached_property
    def spans(self) -> pl.DataFrame:
        """Versions of snapshots, each alive in [born, died); columns in `fold_spans.SCHEMA`."""
        return fold_spans(self.tables)

    def call_site(self, seq: int) -> tuple[str, ...]:
        """Return the Python code that allocated the bytes of event `seq` (`Allocated`, `SnapshotTaken`, `SnapshotOwned`), the caller of each after it.

        Each is `FILE:LINE FUNCTION`; the file is relative to its package. () of other events, and when the run did not record call sites.

        Raises:
            BadValue: `seq` is no whole number.
        """
        require_type("seq", seq, int, "the number of an event")
        sites: list[str] = self.tables.between(seq, seq + 1).names("call_site").to_list()
        return tuple(line for one in sites for line in one.splitlines())

    @cached_property
    def observed(self) -> pl.DataFrame:
        """Figures read outside the cache, as an import has them; columns in `readings.OBSERVED`."""
        return fold_observed(self.tables)

    @cached_property
    def tokens(self) -> dict[int, list[int]]:
        """For each request that stored its tokens those of its prompt and its reply."""
        return stored_tokens(self.tables)

    @property
    def count(self) -> int:
        """How many events it has."""
        return self.tables.count

    @property
    def last(self) -> int:
        """The last event's `seq`; -1 when it has none."""
        return self.tables.last

    @property
    def last_t(self) -> float:
        """The last event's seconds since the recording began; 0 when it has none."""
        found = self.tables.between(self.last, self.last + 1).rows(columns=("t",)).get_column("t").drop_nulls()
        return float(found[-1]) if len(found) else 0.0

    def replay(self, *kinds: type[Event], texts: bool = False) -> list[Event]:
        """Return its events of some kinds (all when none is given) as objects, in order; prompts and answers only with `texts`."""
        return replay(self.tables, *kinds, texts=texts)

    def event(self, seq: int) -> Event | None:
        """Return the event with that `seq`; None when there is none."""
        return next(iter(replay(self.tables.between(seq, seq + 1))), None)

    def until(self, seq: int) -> Recording:
        """Return the recording as it was right after event `seq`: nothing of what came later."""
        return type(self)(self.manifest, self.tables.between(self.tables.first, seq + 1))

    def request_at(self, seq: int) -> int:
        """Return the request under way at event `seq`; 0 outside any and before the first event."""
        return self.tables.request_at(seq)

    def end_of(self, request: int) -> int | None:
        """Return the last event (`seq`) of a request; None when it has none."""
        return self.tables.end_of(request)

    def at(self, seq: int) -> Moment:
        """Return the trie and the bytes as they were right after event `seq`.

        Raises:
            BadValue: the recording does not reach there.
        """
        require_type("seq", seq, int, "the number of an event")
        if not self.count:
            raise BadValue(what=f"there is no moment {seq}", why="the recording has no events", hint="record a run first")
        first, last = self.tables.first, self.last
        if not first <= seq <= last:
            raise BadValue(what=f"there is no moment {seq}", why=f"the recording's events are {first} to {last}", hint=f"give {first} to {last}")
        return moment(seq, self._past, self.nodes, self.spans)

    @cached_property
    def _past(self) -> Past:
        return Past.of(self.tables, unread=READINGS in self.manifest.left_out)

    def save(self, path: str | Path) -> Path:
        """Write the recording into the folder `path` (a name that ends with .zip: as an archive); return its absolute path.

        Raises:
            BadValue: `path` holds something that is not a recording.
            UnreadableInput: `path` cannot be written.
        """
        out = followed(path)
        if out.suffix == ".zip":
            return self.pack(out)
        archive.write_folder(out, self._copy_manifest(), self.tables)
        return out

    def pack(self, path: str | Path | None = None, *, force: bool = False) -> Path:
        """Write the recording as one archive, by default next to its folder as `NAME.kvrec.zip`; return its absolute path.

        Raises:
            BadValue: no path is given and the recording has no lasting folder, the path is the recording's own, or a file is there that is no packed
                recording and it is not forced.
            UnreadableInput: `path` cannot be written.
        """
        if path is None:
            if self.path is None or self._folder is not None:
                raise BadValue(
                    what="a name for the archive is missing",
                    why="this recording is in a temporary folder or in none",
                    hint="write for example recording.pack('run.kvrec.zip')",
                )
            path = self.path if self.path.suffix == ".zip" else self.path.with_name(self.path.name + ".zip")
        out = require_path(path)
        if self.path is not None and followed(out) == followed(self.path):
            raise BadValue(
                what=f"{str(out)!r} cannot be packed onto itself",
                why="the recording that is read would be written over",
                hint="choose another name for the archive with -o (in Python: pack('copy.kvrec.zip'))",
            )
        archive.write_zip(out, self._copy_manifest(), self.tables, force=force)
        return out

    def _copy_manifest(self) -> Manifest:
        # What was read of a damaged recording is whole as a file, but not as a run.
        return dataclasses.replace(self.manifest, events=self.count if self.complete else None)

    @property
    def _requests_words(self) -> str:
        count = self.requests.height
        return f"{count:,} request{'' if count == 1 else 's'}"

    def __repr__(self) -> str:
        made = self.manifest
        lines = [
            f"Recording of {made.model} ({made.source}), workload {made.workload or 'none'}, policy {policy_words(made.policy)}",
            f"  {self._requests_words}, {self.count:,} events",
        ]
        reading = self._past.last_reading()
        if reading:
            budget = "" if reading["budget"] is None else f" of a budget of {binary(reading['budget'])}"
            # an import has some of them only
            held = [f"{name} {binary(reading[name])}{budget * (name == 'counted')}" for name in _AT_THE_END if reading[name] is not None]
            lines.append(f"  bytes at the end: {', '.join(held)}")
        lines += [f"  {name}: {words}" for name, words in notes(made)]
        if self.damaged:
            lines.append(f"  warning: damaged, events are missing: {', '.join(self.damaged)}")
        elif not self.complete:
            lines.append("  warning: the run was cut short; this is what it had written")
        return visible("\n".join(lines))

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process cannot share the temporary folder; the events travel with the object.
        path = None if self._folder is not None else self.path
        return _rebuild, (self.manifest, self.tables, path, self.damaged)


def _rebuild(manifest: Manifest, events: EventTables, path: Path | None, damaged: tuple[str, ...]) -> Recording:
    return Recording(manifest, events, path=path, damaged=damaged)
