"""Runs: what one recording tells of what its nodes hold: whose tokens they are, and which requests begin alike."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import polars as pl

from kvlab.events import FrontierMoved, Matched, NodeBorn, NodeMerged, NodeRemoved, NodeSplit, RequestClosed
from kvlab.recording import Recording
from kvlab.recording.fold_nodes import NodeFold, NodeVersion

Fact = tuple[int, int, int]
"""(end, one, other): requests `one` and `other` begin with the same tokens up to `end`."""

_KINDS = (NodeBorn.kind, NodeSplit.kind, NodeMerged.kind, NodeRemoved.kind, FrontierMoved.kind, Matched.kind, RequestClosed.kind)


class Run:
    """One recording, as far as it tells what its nodes hold.

    Attributes:
        recording: The recording.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording

    @cached_property
    def requests(self) -> dict[int, tuple[str, int]]:
        """Label and prompt tokens of every request."""
        return {request: (label or "", tokens or 0) for request, label, tokens in self.recording.requests.select("request", "label", "tokens").iter_rows()}

    @cached_property
    def hashes(self) -> dict[int, array[int]]:
        """For each request that stored its tokens a hash of its first n tokens, at place n."""
        return {request: _running_hash(tokens) for request, tokens in stored_tokens(self.recording.events)}

    def holder(self, request: int | None, end: int, born: int) -> int | None:
        """Return the request whose first `end` tokens a node holds that was born in `request`, in a version begun with event `born`."""
        if request and self._reach.get(request, 0) >= end:
            return request
        # it grew in place: what it holds now is what the request said that made it grow
        place = self._seqs.search_sorted(born)
        grown = int(self._of[place]) if place < len(self._of) else 0
        return grown if self._reach.get(grown, 0) >= end else None

    @cached_property
    def facts(self) -> list[Fact]:
        """Which requests begin alike: those that cut or came to rest on a node that another one left."""
        events = self.recording.events
        rows = events.select("kind", "seq", "request", "node", "parent", "head", "start", "end", "user", "matched").filter(pl.col("kind").is_in(_KINDS))
        fold, frontier, under_way = NodeFold(), 0, 0
        found: list[Fact] = []
        for kind, seq, request, node, parent, head, start, end, user, matched in rows.iter_rows():
            if kind == NodeBorn.kind:
                fold.born(seq, request, node, parent, start, end, user=user)
            elif kind == NodeSplit.kind:
                found += self._alike(request, [version] if (version := fold.alive.get(node)) else [], end)
                fold.split(seq, request, node, head, start, end)
            elif kind == NodeMerged.kind:
                fold.merged(seq, node, head, start, end)
            elif kind == NodeRemoved.kind:
                fold.removed(seq, node)
            elif kind == FrontierMoved.kind:
                frontier = node
            elif kind == Matched.kind:
                under_way = request
                found += self._alike(request, [one for one in _path(fold.alive, frontier) if (one.end or 0) <= matched])
            elif request == under_way:
                # what was matched may have been cut or joined since
                found += self._alike(request, list(_path(fold.alive, frontier)))
        return found

    def _alike(self, request: int, versions: list[NodeVersion], end: int | None = None) -> Iterator[Fact]:
        for one in versions:
            other = self.holder(one.request, one.end or 0, one.born)
            if other and other != request:
                yield min(one.end or 0, one.end or 0 if end is None else end), request, other

    @cached_property
    def _reach(self) -> dict[int, int]:
        table = self.recording.requests.select("request", pl.col("tokens").fill_null(0) + pl.col("generated").fill_null(0))
        return dict(table.iter_rows())

    @cached_property
    def _seqs(self) -> pl.Series:
        return self.recording.events.get_column("seq")

    @cached_property
    def _of(self) -> pl.Series:
        return self.recording.events.get_column("request")


def _path(alive: Mapping[int, NodeVersion], frontier: int) -> Iterator[NodeVersion]:
    seen: set[int] = set()
    node: int | None = frontier
    # a node seen twice ends the walk: a damaged recording must not hang it
    while node is not None and node in alive and node not in seen:
        seen.add(node)
        yield alive[node]
        node = alive[node].parent


def stored_tokens(events: pl.DataFrame) -> Iterator[tuple[int, list[int]]]:
    """Yield the requests that stored their tokens, each with those of its prompt and its reply."""
    replies: dict[int, list[int]] = {}
    for request, token in events.filter(kind="token_out").select("request", "token").drop_nulls().iter_rows():
        replies.setdefault(request, []).append(token)
    for request, told in events.filter(kind="request_began").select("request", "prompt_tokens").drop_nulls().iter_rows():
        pairs: list[list[Any]] = json.loads(told)
        yield request, [int(token) for token, _ in pairs] + replies.get(request, [])


def _running_hash(tokens: list[int]) -> array[int]:
    hashes = array("q", [0])
    for token in tokens:
        hashes.append(hash((hashes[-1], token)))
    return hashes
