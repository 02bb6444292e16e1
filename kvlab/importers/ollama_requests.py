"""Requests of an Ollama log: which records belong to which, and what a request's row is made of.

A request begins at its `cache hit` or `cache miss` and ends at its `peak memory`; without that at the next beginning or the runner's end. Evictions,
page ins, page outs and a refused restore may be before the beginning they belong to or inside the running request: they wait until the next
record decides. Derived figures: `generated` = tokens stored at the end - prompt + 1, because a reply's last token is never stored; seconds of
prefill and decode are those between the log's lines.
"""

from __future__ import annotations

from typing import Any

from kvlab.cache.paging import FREE_ALL
from kvlab.cache.reuse import reason_for
from kvlab.importers.figures import size
from kvlab.importers.rows import Rows

MOST_WAITING = 10_000
"""Rows that wait for the request they belong to; beyond that they belong to the running one."""


class _Running:
    """What is known of the running request; of one that began before the log (`open` is False) only how it ends."""

    open = cancelled = False
    tokens = cached = left = done = 0
    began = 0.0
    prefilled: float | None = None
    matched: int | None = None
    stored: int | None = None
    live: int | None = None
    counted: int | None = None
    nodes: int | None = None
    active: int | None = None


class Requests:
    """The running request and what waits for the next. Fields of records are given as they are printed.

    Attributes:
        several: Several runners are alive, so a request that begins while another one runs may be of either: then their ends are nobody's.
        nodes_held: How many nodes the last record of a cache's size named; None when none did since the last dump.
    """

    __slots__ = ("_mixed", "_now", "_rows", "_waiting", "nodes_held", "several")

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._waiting: list[tuple[float, str, tuple[Any, ...]]] = []
        self._now = _Running()
        self._mixed = 0
        self.several = False
        self.nodes_held: int | None = None

    @property
    def reached(self) -> int | None:
        """How far the running request matched; None when not known."""
        return self._now.matched

    def matched(self, tokens: str, as_matched: str, as_cached: str, as_left: str) -> bool | None:
        """The next request has been matched: its tokens, and how many of them are matched, cached and left."""
        total, matched, cached, left = int(tokens), int(as_matched), int(as_cached), int(as_left)
        if cached + left != total or max(matched, cached) > total:
            return False
        if self._now.open:
            self._mixed = max(2, self._mixed + 1) if self.several else 0
            self._end(None)
        rows = self._rows
        rows.began("", total)
        self._now = now = _Running()
        now.open, now.tokens, now.matched, now.cached, now.left, now.began = True, total, matched, cached, left, rows.t
        refused = bool(self._waiting) and any(kind == "warned" and values[0].startswith(FREE_ALL) for _, kind, values in self._waiting)
        self.settle(its_end=False)
        if refused and matched and not cached:
            reason, layer = "refused_by_layer", None
        else:
            reason, _ = reason_for(matched, cached, total - 1, "", gone=False)
            # which layer it was a log does not say
            layer = None if reason == "reuse_limited_by_restore_point" else ""
        rows.add("matched", total, matched, cached, left, reason, layer)
        return None

    def around(self, kind: str, *values: Any) -> None:
        """A record of the running request or of the next one's beginning."""
        if len(self._waiting) >= MOST_WAITING:
            self.settle()
        self._waiting.append((self._rows.t, kind, values))

    def inside(self, kind: str, *values: Any) -> None:
        """A record of the running request, or of none."""
        self.settle()
        self._rows.add(kind, *values)

    def progressed(self, as_done: str, as_left: str) -> None:
        """Prefill has evaluated some of the tokens left, if both are those of the running request."""
        self.settle()
        now, rows = self._now, self._rows
        done, before = int(as_done), now.done
        if not now.open or int(as_left) != now.left or not before <= done <= now.left:
            return
        if done > before:
            seconds = rows.t - (now.began if now.prefilled is None else now.prefilled)
            rows.add("chunk_ran", now.cached + before, now.cached + done, max(0.0, seconds))
        now.done, now.prefilled = done, rows.t

    def held(self, tokens: str, live: str, paged_out: str, nodes: str) -> None:
        """What the cache holds at a request's end: tokens, logical bytes of the live buffers, bytes counted, and nodes."""
        self.settle()
        self.nodes_held = int(nodes)
        if not self._mixed:
            now = self._now
            now.stored, now.live, now.counted, now.nodes = int(tokens), size(live), size(paged_out), self.nodes_held

    def allocated(self, active: str) -> None:
        """The allocator's active bytes at a request's end."""
        self.settle()
        self._now.active = size(active)

    def cancelled(self, text: str) -> None:
        """The running request was cut short."""
        del text
        self.settle()
        self._now.cancelled = self._now.open

    def peaked(self, peak: str | None, bare: str | None = None) -> bool | None:
        """The running request has ended. Of one that began before the log, or of one of several, only the figure is kept."""
        count = size(peak or bare or "")
        if count is None:
            return False
        self.settle()
        if self._mixed:
            self._mixed -= 1
            self._rows.add_to(0, "observed", ("peak", "", count, None, None, "", None, None, ""))
            if not self._mixed and self._now.open:
                self._end(None)
        elif self._now.open:
            self._end(count)
        else:
            self._read(count)
            self._rows.add("observed", "peak", "", count, None, None, "", None, None, "")
            self._now = _Running()
        return None

    def ended(self) -> None:
        """The runner or the log ends: so does the running request, and what waits is its own."""
        self.settle()
        if self._now.open:
            self._end(None)

    def settle(self, *, its_end: bool = True) -> None:
        """What waits belongs to the running request, or to none; a page out among it says what it stored, unless `its_end` is not yet."""
        if self._waiting:
            rows, now = self._rows, self._rows.t
            for rows.t, kind, values in self._waiting:
                if kind == "paged_out" and its_end:
                    self._now.stored = values[2]
                rows.add(kind, *values)
            rows.t = now
            self._waiting = []

    def _read(self, peak: int | None) -> None:
        now = self._now
        # of a request that began before the log nothing is known but its peak
        if self._rows.requests and (now.counted is not None or now.active is not None):
            self._rows.add("bytes_read", "close", now.live, now.counted, None, now.active, peak, now.nodes)

    def _end(self, peak: int | None) -> None:
        now, rows = self._now, self._rows
        self._read(peak)
        prefilled = now.prefilled if now.done == now.left - 1 else None
        prefill_s = None if prefilled is None else max(0.0, prefilled - now.began)
        decode_s = None if prefilled is None or peak is None else max(0.0, rows.t - prefilled)
        known = now.stored is not None and (now.stored >= now.tokens - 1 or now.cancelled)
        generated = max(0, now.stored - now.tokens + 1) if known and now.stored is not None else None
        rows.add("request_closed", generated, "cancelled" if now.cancelled else None, prefill_s, decode_s, peak, None)
        rows.request = 0
        self._now = _Running()
