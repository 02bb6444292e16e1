"""Many requests of an Ollama log at once: the stretches of a block, read as columns.

Each stretch has its turn between the lines that are read one by one, or is read like them when one of its lines has another form or figures that contradict
each other. Invariant: both ways make the same events and the same counts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kvlab.cache.reuse import reason_for
from kvlab.importers.ollama_columns import Floats, Ints, read_columns
from kvlab.importers.ollama_stretches import CALL, HIT, PEAK, PROGRESS, SERVED, Stretch
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock

NAMES = {PROGRESS: "Prompt processing progress", PEAK: "peak memory", CALL: "ServeHTTP", SERVED: "[GIN]"}
"""What records are called in the summary; a `HIT` is a `cache hit` or a `cache miss`."""


class Bulk:
    """The stretches of one block. Each one that is taken must be, in their order; `write` follows when all had their turn."""

    def __init__(self, block: Sequence[bytes], stretches: Sequence[Stretch], rows: Rows, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        lines = [line for one in stretches for line in block[one.first : one.last]]
        letters = np.frombuffer(b"".join([one.codes for one in stretches]), np.uint8)
        self._which = np.repeat(np.arange(len(stretches)), [len(one.codes) for one in stretches])
        self._told = told = read_columns(lines, letters)
        self._stamped = np.flatnonzero((letters != CALL) & (letters != SERVED))
        stamped = [lines[place] for place in self._stamped.tolist()]
        width = stamped[0].find(b" ") + 1
        times = clock.read_many([line[:width] for line in stamped])
        self._times: Floats = np.zeros(len(stamped)) if times is None else times
        self._events = np.zeros(len(letters), np.int64)
        self._events[told.where[HIT]] = 2
        self._events[told.where[PEAK]] = 1
        self._events[told.where[PROGRESS]] = told.done > told.before
        self._events[told.where[SERVED]] = told.asks
        count = len(stretches)
        self._odd = np.bincount(self._which, told.odd).tolist() if times is not None else [1.0] * count
        self._ends: list[float] = self._times[np.searchsorted(self._stamped, np.cumsum(np.bincount(self._which))) - 1].tolist()
        self._written: list[float] = np.bincount(self._which, self._events).tolist()
        missed = np.bincount(self._which[told.where[HIT]], told.missed, count).tolist()
        counts = [np.bincount(self._which[told.where[letter]], minlength=count).tolist() for letter in (HIT, *NAMES)]
        self._counts = [
            {"cache miss": int(miss), "cache hit": hits - int(miss)} | dict(zip(NAMES.values(), rest, strict=True))
            for miss, hits, *rest in zip(missed, *counts, strict=True)
        ]
        self._taken = np.zeros(count, np.bool_)
        self._seq, self._request = np.zeros((2, count), np.int64)
        self._before = np.zeros(count)

    def take(self, place: int) -> dict[str, int] | None:
        """It is the turn of a stretch: keep its place; return how many records of each message it has. None when it has to be read line by line."""
        if self._odd[place]:
            return None
        rows, counts = self._rows, self._counts[place]
        self._taken[place] = True
        self._seq[place], self._request[place], self._before[place] = rows.seq, rows.requests, rows.t
        self._clock.seconds = self._ends[place]
        rows.skipped(int(self._written[place]), counts["cache hit"] + counts["cache miss"], self._ends[place])
        return counts

    def write(self) -> None:
        """Write the events of the stretches that were taken."""
        if not self._taken.any():
            return
        told, which, events = self._told, self._which, self._events
        total = np.cumsum(events) - events
        firsts = np.searchsorted(which, np.arange(len(self._seq)))
        seq = self._seq[which] + total - total[firsts][which]
        # a line without a moment stands in the one before it, or in the one before its stretch
        last = np.searchsorted(self._stamped, np.arange(len(which)), side="right") - 1
        within = (last >= 0) & (self._stamped[last] >= firsts[which])
        t = np.where(within, self._times[last], self._before[which])
        hits = told.where[HIT]
        rank = np.arange(len(hits)) - np.searchsorted(hits, firsts)[which[hits]]
        number = self._request[which[hits]] + rank + 1
        self._write_begins(seq, t, number)
        self._write_chunks(seq, t, number)
        self._write_ends(seq, t, number)
        at = told.where[SERVED]
        use = self._taken[which[at]] & told.asks
        labels = [told.labels[place] for place in np.flatnonzero(use)]
        self._rows.extend("served", seq[at][use], t[at][use], np.zeros(len(labels), np.int64), labels, told.status[use], told.seconds[use])

    def _write_begins(self, seq: Ints, t: Floats, number: Ints) -> None:
        at = self._told.where[HIT]
        use = self._taken[self._which[at]]
        at, number = at[use], number[use]
        total, matched, cached, left = self._told.hits[use].T
        reasons = [reason_for(*one, "", gone=False)[0] for one in zip(matched.tolist(), cached.tolist(), (total - 1).tolist(), strict=True)]
        # which layer it was a log does not tell
        layers = [None if reason == "reuse_limited_by_restore_point" else "" for reason in reasons]
        self._rows.extend("request_began", seq[at], t[at], number, [""] * len(at), total)
        self._rows.extend("matched", seq[at] + 1, t[at], number, total, matched, cached, left, reasons, layers)

    def _write_chunks(self, seq: Ints, t: Floats, number: Ints) -> None:
        told = self._told
        at, whose = told.where[PROGRESS], told.whose
        first = np.diff(whose, prepend=-1) > 0
        since = np.where(first, t[told.where[HIT][whose]], np.roll(t[at], 1))
        use = self._taken[self._which[at]] & (told.done > told.before)
        base = told.hits[whose, 2]
        took = np.maximum(0.0, t[at] - since)
        self._rows.extend("chunk_ran", seq[at][use], t[at][use], number[whose][use], (base + told.before)[use], (base + told.done)[use], took[use])

    def _write_ends(self, seq: Ints, t: Floats, number: Ints) -> None:
        told = self._told
        at, left = told.where[PEAK], told.hits[:, 3]
        prefilled = np.full(len(at), np.nan)
        # later records of a request come after earlier ones, so the last one stays
        whole = told.done == left[told.whose] - 1
        prefilled[told.whose[whole]] = t[told.where[PROGRESS][whole]]
        prefill, decode = np.maximum(0.0, prefilled - t[told.where[HIT]]), np.maximum(0.0, t[at] - prefilled)
        use = self._taken[self._which[at]]
        self._rows.extend("request_closed", seq[at][use], t[at][use], number[use], None, None, prefill[use], decode[use], told.peaks[use], None)
