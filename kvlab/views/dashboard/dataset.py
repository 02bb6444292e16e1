"""Dataset: all that a page needs to draw any moment, as columns of numbers.

Nodes and spans are intervals of existence ([born, died), in `seq`), so a moment is a filter and nothing is sent twice. Events are taken
one after another, those of a recording and those of a live run alike; `delta` gives what came since the last one.

Invariants: rows are only ever added, but for `died` of a version and the row of a request that is under way; -1 is "not
(yet)"; whole numbers throughout but for seconds; no prompt and no answer is in it unless `texts` is set.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from typing import Any

from kvlab import events as ev
from kvlab.recording import Recording
from kvlab.recording.fold_nodes import NodeFold, NodeVersion
from kvlab.recording.fold_spans import SpanFold, SpanVersion
from kvlab.recording.fold_state import offset_after
from kvlab.recording.readings import PREDICTED
from kvlab.views.dashboard.requests import HIDDEN, SHOWN, RequestRows, Row, Texts, of_recording
from kvlab.views.dashboard.sentences import sentence
from kvlab.views.dashboard.tables import FIGURES, MARKS, NODES, OWNERS, PHASES, QUIET, SPANS, STATES, STOPS, TABLES, About

Columns = dict[str, list[Any]]

WORDS = ("kinds", "templates", "call_sites")
"""Lists of words that tables name by number."""

_PROTECTIONS = {name: code for code, name in enumerate(("", *ev.PROTECTIONS))}

MOST = 60_000
"""A recording of more events is thinned."""


class Dataset:
    """The tables of a run, and what was added since they were last handed over.

    Attributes:
        about: What does not change.
        texts: Keep prompts and replies.
        searchable: Whether the texts of tokens are there, in the words of `kvlab.views.dashboard.requests`.
        thin: Stop only at events of `STOPS`; nodes, snapshots and bytes stay whole.
        last: The last event's seq; -1 before the first.
    """

    def __init__(self, about: About, *, texts: bool = False, searchable: str = "", thin: bool = False) -> None:
        self.about = about
        self.texts = texts
        self.searchable = searchable or (SHOWN if texts else HIDDEN)
        self.thin = thin
        self.last = -1
        self._tables: dict[str, Columns] = {name: {column: [] for column in columns} for name, columns in TABLES.items() if name not in ("nodes", "spans")}
        self._nodes = NodeFold()
        self._spans = SpanFold()
        self._offset = 0
        self._used_at: dict[int, int] = {}
        self._texts = Texts()
        self._requests = RequestRows()
        self._words: dict[str, dict[str, int]] = {name: {} for name in WORDS}
        self._rows: dict[int, int] = {}
        self._sent: dict[str, int] = {}
        self._layers: dict[int, str] = {}
        self._handlers: dict[type[ev.Event], Callable[[Any], None]] = {
            ev.NodeRanked: self._ranked,
            ev.BufferChanged: self._buffer_changed,
            ev.BytesRead: self._read,
            ev.WrongPositions: self._wrong,
            ev.Allocated: self._moved,
            ev.Freed: self._moved,
            ev.PoolCleared: self._pool_cleared,
        }

    @property
    def first(self) -> int:
        """The first event's seq; -1 when there is none."""
        seqs = self._tables["events"]["seq"]
        return seqs[0] if seqs else -1

    def take(self, events: Iterable[ev.Event]) -> None:
        """Take the next events."""
        for event in events:
            self._take(event)

    def take_texts(self, rows: Iterable[Row]) -> None:
        """Take the texts of tokens that no event has: those of nodes that were there before the run."""
        for row in rows:
            self._add("tokens", *row)

    def whole(self) -> dict[str, Any]:
        """Return everything there is, as JSON holds it; `delta` goes on from here."""
        self._sent, self._requests.touched = {}, set(self._requests.rows)
        self._nodes.ended.clear()
        self._spans.ended.clear()
        about = self.about
        known = {"title": about.title, "groups": self._groups(), "source": about.source, "searchable": self.searchable, "left_out": list(about.left_out)}
        words = {"phases": PHASES, "states": STATES, "what": MARKS, "owners": OWNERS, "protections": ("", *ev.PROTECTIONS.values())}
        return known | {name: list(values) for name, values in words.items()} | self.delta()

    def delta(self) -> dict[str, Any]:
        """Return what came since the last call: rows to append, versions that ended, requests that changed."""
        ended = {
            "nodes": [[self._rows[id(one)], one.died] for one in self._nodes.ended if id(one) in self._rows],
            "spans": [[self._rows[id(one)], one.died] for one in self._spans.ended if id(one) in self._rows],
        }
        self._nodes.ended.clear()
        self._spans.ended.clear()
        added: dict[str, Any] = {name: self._fresh(name, columns) for name, columns in self._tables.items()}
        added["nodes"] = self._versions("nodes", self._nodes.all, NODES)
        added["spans"] = self._versions("spans", self._spans.all, SPANS)
        given = {
            "add": {name: columns for name, columns in added.items() if any(columns.values())},
            "ended": {name: pairs for name, pairs in ended.items() if pairs},
            "requests": self._requests.changed(),
        } | {name: self._tail(name, list(words)) for name, words in self._words.items()}
        return {name: value for name, value in given.items() if value}

    def _groups(self) -> list[dict[str, Any]]:
        known = [dict(group) for group in self.about.groups]
        # an imported run has no shape; what its snapshots name is known all the same
        for group in range(len(known), max(self._layers, default=-1) + 1):
            kind = self._layers.get(group, "?")
            known.append({"label": f"group {group} ({kind})", "kind": kind, "layers": 1, "bytes_per_token": 0, "state_bytes": 0, "window": 0, "growth_step": 0})
        return known

    def _fresh(self, name: str, columns: Columns) -> Columns:
        start = self._sent.get(name, 0)
        self._sent[name] = len(next(iter(columns.values())))
        return {column: values[start:] for column, values in columns.items()}

    def _tail(self, name: str, values: list[str]) -> list[str]:
        start = self._sent.get(name, 0)
        self._sent[name] = len(values)
        return values[start:]

    def _versions(self, name: str, versions: list[NodeVersion] | list[SpanVersion], columns: tuple[str, ...]) -> Columns:
        start = self._sent.get(name, 0)
        self._sent[name] = len(versions)
        fresh = versions[start:]
        self._rows |= {id(one): start + place for place, one in enumerate(fresh)}
        return {column: [_number(getattr(one, column)) for one in fresh] for column in columns}

    def _add(self, table: str, *values: Any) -> None:
        for column, value in zip(self._tables[table].values(), values, strict=True):
            column.append(value)

    def _word(self, of: str, word: str) -> int:
        return self._words[of].setdefault(word, len(self._words[of]))

    def _take(self, event: ev.Event) -> None:
        self._offset = offset_after(event, self._offset)
        if event.kind in STOPS or not (self.thin or event.kind in QUIET):
            self._stop(event)
        self._mark(event)
        self._nodes.take(event)
        self._spans.take(event)
        if isinstance(event, ev.SnapshotTaken):
            self._layers.setdefault(event.group, event.layer)
        self._requests.take(event)
        if self.texts:
            self._texts.take(event)
        for table, rows in (("texts", self._texts.pieces), ("tokens", self._texts.tokens)):
            for row in rows:
                self._add(table, *row)
            rows.clear()
        site: str | None = getattr(event, "call_site", None)
        if site:
            self._add("sites", event.seq, self._word("call_sites", site))
        handle = self._handlers.get(type(event))
        if handle is not None:
            handle(event)

    def _stop(self, event: ev.Event) -> None:
        self.last = event.seq
        template, figures = sentence(event, self.about.policy)
        words = [self._word("templates", template), *figures]
        kind, node = self._word("kinds", event.kind), getattr(event, "node", -1)
        self._add("events", event.seq, kind, event.request, node, round(event.t, 4), self._offset, words)

    def _mark(self, event: ev.Event) -> None:
        if event.kind in MARKS:
            at: Any = event
            start, end = (at.index, at.index + 1) if event.kind == "token_out" else (getattr(at, "start", 0), getattr(at, "end", 0))
            self._add("marks", event.seq, event.request, MARKS.index(event.kind), start, end, getattr(at, "node", -1))

    def _ranked(self, e: Any) -> None:
        seq, protection = self._shown_at(e), _PROTECTIONS.get(e.protection, 0)
        used_at = self._used_at.setdefault(e.used, seq) if e.used else None
        self._add("ranks", seq, e.node, protection, used_at, *map(_finite, (e.first, e.second, e.third)))

    def _shown_at(self, e: ev.Event) -> int:
        """Return the stop at which a quiet event shows: the one before it, whose effect it is, where every event but these is a stop."""
        return e.seq if self.thin or self.first < 0 else self.last

    def _buffer_changed(self, e: Any) -> None:
        self._add("buffers", self._shown_at(e), e.group, e.offset, e.start, e.capacity)

    def _read(self, e: Any) -> None:
        if e.source == PREDICTED:
            self._add("predicted", e.seq, e.request, e.counted, e.live)
            return
        phase = PHASES.index(e.phase) if e.phase in PHASES else 0
        self._add("readings", e.seq, e.request, phase, *(_number(getattr(e, name)) for name in FIGURES))

    def _wrong(self, e: Any) -> None:
        self._add("wrong", e.seq, e.request, e.group, e.start, e.end, e.belongs_to)

    def _moved(self, e: Any) -> None:
        if e.owner in OWNERS:
            self._add("moves", e.seq, OWNERS.index(e.owner))

    def _pool_cleared(self, e: Any) -> None:
        self._add("moves", e.seq, OWNERS.index("pool"))


def dataset_of(recording: Recording, *, texts: bool = False, most: int = MOST) -> Dataset:
    """Return the dataset of a recording; its texts only when they were stored and `texts` is set. Above `most` events it is thinned."""
    made = recording.manifest
    about = About.of(f"{made.model}, {made.workload or 'no workload'}", made.policy, made.shape, made.source, made.left_out)
    searchable = of_recording(recording, texts=texts)
    data = Dataset(about, texts=texts and made.stored_text, searchable=searchable, thin=recording.count > most)
    data.take(recording.replay(texts=data.texts))
    return data


def _finite(value: float | None) -> float | None:
    """Return a number that JSON has, which has no infinity; None for none."""
    return None if value is None or math.isnan(value) else max(-sys.float_info.max, min(value, sys.float_info.max))


def _number(value: Any) -> Any:
    if value is None:
        return -1
    if isinstance(value, str):
        return STATES.index(value)
    return int(value)
