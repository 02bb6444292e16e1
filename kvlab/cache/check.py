"""Checks every invariant of the cache by its rule id, after every step. It changes nothing.

Contents are proven on the `spans` storage: a restored position is right if the request that wrote it shares all tokens up to there.
Rule ids: edges, path, kv_covers_edge, level, snapshots_conserved, counted, lazy_intact, restored_right, cached_is_matched, unattributed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Protocol, runtime_checkable

from kvlab.cache.cache import Cache
from kvlab.cache.media import before
from kvlab.cache.session import Session
from kvlab.events import Log, Violation, WrongPositions
from kvlab.layers.spans import Run, Runs, length
from kvlab.shape import TOKEN_KINDS
from kvlab.trie import Node, to_keys
from kvlab.trie.keys import agreeing, width_of

TOLERANCE = 1024
"""Bytes that may stay unattributed on real arrays: the allocator's rounding of a few scalars (measured: 8)."""

READ = frozenset({"begin", "prefill", "attach", "close"})
"""The phases whose bytes are read just before they are checked."""


TRAILING = frozenset({"prefill", "decode"})
"""The phases in which draft layers wait for the token that follows."""


@runtime_checkable
class HasContents(Protocol):
    """A store that knows who wrote what."""

    def contents(self, start: int, end: int) -> Runs:
        """Return what slots [start, end) hold."""
        ...


class Checker:
    """Checks a cache step by step and writes violations to the log."""

    def __init__(self) -> None:
        self._written: dict[int, list[int]] = {}
        self._lazy: dict[tuple[int, int], Runs | None] = {}
        self._request = 0

    def begin(self, request: int, tokens: Sequence[int]) -> None:
        """Record which tokens request number `request` evaluates."""
        self._request = request
        self._written[request] = list(tokens)

    def replied(self, tokens: Sequence[int]) -> None:
        """Record tokens of the reply: if they are evaluated, they are the running request's."""
        self._written[self._request] += tokens

    def check(self, cache: Cache, session: Session, phase: str, log: Log) -> None:
        """Check all rules that apply at this moment; write a `Violation` for each that does not hold."""
        for rule, message in self._broken(cache, session, phase):
            log.append(Violation(rule=rule, message=message))
        if phase == "begin":
            self._check_restored(cache, session, log)

    def _broken(self, cache: Cache, session: Session, phase: str) -> Iterator[tuple[str, str]]:
        nodes = list(cache.trie.walk())
        yield from edges(nodes)
        yield from path(cache, closed=phase == "close")
        yield from kv_covers_edge(cache, nodes)
        yield from level(cache, phase)
        yield from conserved(cache, session, nodes)
        yield from counted(cache, nodes)
        yield from self._lazy_intact(cache)
        if phase == "begin":
            yield from cached_is_matched(cache, session)
        if phase in READ:
            yield from unattributed(cache.ledger.unattributed)

    def _lazy_intact(self, cache: Cache) -> Iterator[tuple[str, str]]:
        # what each lazy snapshot held when it was first seen; None from when its place was overwritten, which is reported once
        before, self._lazy = self._lazy, {}
        for group, layer in enumerate(cache.layers):
            if not isinstance(layer.store, HasContents):
                continue
            for snapshot in layer.lazies.values():
                now = layer.store.contents(snapshot.start, snapshot.end)
                was = before.get((group, snapshot.id), now)
                self._lazy[group, snapshot.id] = was if now == was else None
                if was is not None and now != was:
                    yield (
                        "lazy_intact",
                        f"lazy snapshot {snapshot.id} [{snapshot.start}, {snapshot.end}) was {_writers(was)}, now its slots hold {_writers(now)}",
                    )

    def _check_restored(self, cache: Cache, session: Session, log: Log) -> None:
        for group, layer in enumerate(cache.layers):
            if isinstance(layer.store, HasContents):
                ahead = 1 if layer.kind == "draft_kv" else 0
                for start, end, owner in self._wrong(layer.store.contents(0, session.cached), session, ahead):
                    log.append(WrongPositions(group=group, layer=layer.kind, start=start, end=end, belongs_to=owner))
                    log.append(Violation(rule="restored_right", message=f"{layer.kind} positions [{start}, {end}) belong to request {owner}"))

    def _wrong(self, runs: Runs, session: Session, ahead: int) -> Iterator[tuple[int, int, int]]:
        # A window holds the last positions only.
        at = session.cached - length(runs)
        for run in runs:
            end = at + run.end - run.start
            right = self._right(run, at, session, ahead)
            if right < end:
                yield max(at, right), end, run.writer
            at = end

    def _right(self, run: Run, at: int, session: Session, ahead: int) -> int:
        # A draft layer's slot holds its token and the next one.
        if run.start != at:
            return at
        ours, written = to_keys(session.tokens, ahead), to_keys(self._written[run.writer], ahead)
        width = width_of(ahead)
        return agreeing(ours, 0, written, len(ours) // width, width)


def edges(nodes: list[Node]) -> Iterator[tuple[str, str]]:
    """A child starts where its parent ends, points back at it, and no two siblings share a first key."""
    for node in nodes:
        for key, child in node.children.items():
            if child.sibling is not None:
                yield "edges", f"two children of node {node.id} begin with key {key}"
            if child.parent is not node:
                yield "edges", f"node {child.id} does not point back at its parent {node.id}"
            if child.start != node.end or not child.tokens:
                yield "edges", f"node {child.id} spans [{child.start}, {child.end}), its parent ends at {node.end}"


def path(cache: Cache, *, closed: bool) -> Iterator[tuple[str, str]]:
    """The active path is a chain from the root; between requests it ends at the live offset, or beyond it after all layers were freed."""
    nodes = cache.path.nodes
    for above, below in pairwise(nodes):
        if below.parent is not above:
            yield "path", f"node {below.id} follows node {above.id} on the active path and is not its child"
    end, offset = cache.path.frontier.end, cache.offset
    if (end > offset and not cache.path.freed) or (closed and end < offset):
        yield "path", f"the active path ends at {end}, the live offset is {offset}"


def kv_covers_edge(cache: Cache, nodes: list[Node]) -> Iterator[tuple[str, str]]:
    """A KV snapshot covers its node's edge exactly; a whole entry's covers all that leads to the node's end."""
    for node in nodes:
        want = (cache.snapshot_start(node), node.end)
        for group, snapshot in enumerate(node.snapshots):
            if snapshot is not None and cache.layers[group].kind in TOKEN_KINDS and (snapshot.start, snapshot.end) != want:
                yield (
                    "kv_covers_edge",
                    f"a KV snapshot does not cover its node's edge: node [{node.start},{node.end}) snapshot [{snapshot.start},{snapshot.end})",
                )


def level(cache: Cache, phase: str = "") -> Iterator[tuple[str, str]]:
    """All layers rest at one offset; during a forward's phase draft layers trail, and those that settle at a reply's end until it is over."""
    trailing = phase in TRAILING or (phase == "attach" and cache.policy.draft_keys == "single")
    offsets = [layer.offset for layer in (cache.targets if trailing else cache.layers)]
    if len(set(offsets)) > 1:
        yield "level", f"layers rest at offsets {offsets}"


def conserved(cache: Cache, session: Session, nodes: list[Node]) -> Iterator[tuple[str, str]]:
    """Every open snapshot is on a node or waits in a capture."""
    held = sum(snapshot is not None for node in nodes for snapshot in node.snapshots) + session.captures.held()
    if cache.registry.open != held:
        yield "snapshots_conserved", f"{cache.registry.open} snapshots are open, {held} are held"


def counted(cache: Cache, nodes: list[Node]) -> Iterator[tuple[str, str]]:
    """Counted bytes are the sum over the nodes' snapshots."""
    total = 0
    for node in nodes:
        mine = sum(snapshot.counted for snapshot in node.snapshots if snapshot is not None)
        total += mine
        if mine != node.counted:
            yield "counted", f"node {node.id} says {node.counted} bytes, its snapshots count {mine}"
    if total != cache.registry.counted:
        yield "counted", f"the cache says {cache.registry.counted} bytes, its nodes count {total}"


def cached_is_matched(cache: Cache, session: Session) -> Iterator[tuple[str, str]]:
    """With KV layers only, all that matched is restored; of a full match what is reusable, and no part of a media item that is one whole."""
    if all(layer.rewinds for layer in cache.layers):
        want = before(session.items, min(session.matched, session.reusable))
        if session.cached != want:
            yield "cached_is_matched", f"matched {session.matched} of {len(session.tokens)} tokens, cached {session.cached}, not {want}"


def unattributed(unattributed_bytes: int) -> Iterator[tuple[str, str]]:
    """What the allocator has in use is what the owners retain, within `TOLERANCE` bytes."""
    if abs(unattributed_bytes) > TOLERANCE:
        yield "unattributed", f"{unattributed_bytes} bytes in use belong to no owner"


def _writers(runs: Runs) -> str:
    return " + ".join(f"request {run.writer} [{run.start}, {run.end})" for run in runs) or "nothing"


__all__ = ["TOLERANCE", "Checker", "unattributed"]
