"""Requests of an Ollama log: which records belong to which, and what a request's row is made of.

A request begins at its `cache hit` or `cache miss` and ends at its `peak memory`; without that at the next beginning or the runner's end. Evictions,
page ins, page outs and a refused restore may stand before the beginning they belong to or inside the running request: they wait until the next
record tells. Derived figures: `generated` = tokens stored at the end - prompt + 1, because a reply's last token is never stored; seconds of
prefill and decode are those between the log's lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kvlab.cache.paging import FREE_ALL
from kvlab.cache.reuse import reason_for
from kvlab.importers.rows import Rows

MOST_WAITING = 10_000
"""Rows that wait for the request they belong to; beyond that they belong to the running one."""


@dataclass(slots=True)
class _Running:
    """What is known of the running request; of one that began before the log (`open` is False) only how it ends."""

    open: bool = False
    tokens: int = 0
    matched: int | None = None
    cached: int = 0
    left: int = 0
    began: float = 0.0
    done: int = 0
    prefilled: float | None = None
    cancelled: bool = False
    stored: int | None = None
    size: int | None = None
    counted: int | None = None
    nodes: int | None = None
    active: int | None = None
    pool: int | None = None


class Requests:
    """The running request and what waits for the next.

    Attributes:
        several: Several runners are alive, so a request that begins while another one runs may be of either: then their ends are nobody's.
    """

    __slots__ = ("_mixed", "_now", "_rows", "_waiting", "several")

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._waiting: list[tuple[float, str, tuple[Any, ...]]] = []
        self._now = _Running()
        self._mixed = 0
        self.several = False

    @property
    def matched(self) -> int | None:
        """How far the running request matched; None when not known."""
        return self._now.matched

    def began(self, total: int, matched: int, cached: int, left: int) -> None:
        """A `cache hit` or `cache miss`: the next request has been matched."""
        if self._now.open:
            self._mixed = max(2, self._mixed + 1) if self.several else 0
            self._end(None)
        rows = self._rows
        rows.began("", total)
        self._now = _Running(open=True, tokens=total, matched=matched, cached=cached, left=left, began=rows.t)
        refused = any(kind == "warned" and values[0].startswith(FREE_ALL) for _, kind, values in self._waiting)
        self.settle(its_end=False)
        if refused and matched and not cached:
            reason, layer = "refused_by_layer", None
        else:
            reason, _ = reason_for(matched, cached, total - 1, "", gone=False)
            # which layer it was a log does not tell
            layer = None if reason == "reuse_limited_by_restore_point" else ""
        rows.add("matched", total, matched, cached, left, reason, layer)

    def around(self, kind: str, *values: Any) -> None:
        """A record of the running request or of the next one's beginning."""
        if len(self._waiting) >= MOST_WAITING:
            self.settle()
        self._waiting.append((self._rows.t, kind, values))

    def inside(self, kind: str, *values: Any) -> None:
        """A record of the running request, or of none."""
        self.settle()
        self._rows.add(kind, *values)

    def progressed(self, processed: int, total: int) -> bool:
        """Prefill has evaluated `processed` of `total` tokens left; return whether that is the running request."""
        self.settle()
        if not self._now.open or total != self._now.left or not self._now.done <= processed <= total:
            return False
        rows, since = self._rows, self._now.began if self._now.prefilled is None else self._now.prefilled
        if processed > self._now.done:
            rows.add("chunk_ran", self._now.cached + self._now.done, self._now.cached + processed, max(0.0, rows.t - since))
        self._now.done, self._now.prefilled = processed, rows.t
        return True

    def held(self, *, stored: int, size: int | None, counted: int | None, nodes: int) -> None:
        """The dump at a request's end tells tokens stored, logical bytes of the live buffers, bytes counted, and nodes."""
        self.settle()
        if self._mixed:
            return
        self._now.stored, self._now.size, self._now.counted, self._now.nodes = stored, size, counted, nodes

    def allocated(self, active: int | None, pool: int | None = None) -> None:
        """The allocator's bytes at a request's end."""
        self.settle()
        self._now.active, self._now.pool = active, pool

    def cancelled(self) -> None:
        """The running request was cut short."""
        self.settle()
        self._now.cancelled = self._now.open

    def peaked(self, peak: int | None) -> None:
        """A `peak memory`: the running request has ended. Of a request that began before the log, or of one of several, only the figure is kept."""
        self.settle()
        if self._mixed:
            self._mixed -= 1
            self._rows.add_to(0, "observed", ("peak", "", peak, None, None, "", None, None, ""))
            if not self._mixed and self._now.open:
                self._end(None)
        elif self._now.open:
            self._end(peak)
        else:
            self._read(peak)
            self._rows.add("observed", "peak", "", peak, None, None, "", None, None, "")
            self._now = _Running()

    def ended(self) -> None:
        """The runner or the log ends: so does the running request, and what waits is its own."""
        self.settle()
        if self._now.open:
            self._end(None)

    def settle(self, *, its_end: bool = True) -> None:
        """What waits belongs to the running request, or to none; a page out among it tells what it stored, unless `its_end` is not yet."""
        if self._waiting:
            rows, now = self._rows, self._rows.t
            for rows.t, kind, values in self._waiting:
                if kind == "paged_out" and its_end:
                    self._now.stored = values[2]
                rows.add(kind, *values)
            rows.t = now
            self._waiting = []

    def _read(self, peak: int | None) -> None:
        if not self._rows.requests:
            # of a request that began before the log nothing is known but its peak
            return
        if self._now.counted is not None or self._now.active is not None:
            self._rows.add("bytes_read", "close", self._now.size, self._now.counted, self._now.pool, self._now.active, peak, self._now.nodes)

    def _end(self, peak: int | None) -> None:
        rows = self._rows
        self._read(peak)
        prefilled = self._now.prefilled if self._now.done == self._now.left - 1 else None
        prefill_s = None if prefilled is None else max(0.0, prefilled - self._now.began)
        decode_s = None if prefilled is None or peak is None else max(0.0, rows.t - prefilled)
        rows.add("request_closed", self._generated(), "cancelled" if self._now.cancelled else None, prefill_s, decode_s, peak, None)
        rows.request = 0
        self._now = _Running()

    def _generated(self) -> int | None:
        if self._now.stored is None or (self._now.stored < self._now.tokens - 1 and not self._now.cancelled):
            return None
        return max(0, self._now.stored - self._now.tokens + 1)
