"""Prefixes: what a node of a trie holds, as a key that is the same for the same tokens from the root to an offset, in either of two recordings.

Where both recordings stored their tokens a key is made of these. Where not, a key names requests: request 7 of A and of B have one
prompt when label and length agree (they do in two runs of one workload), and two requests of a run begin with the same tokens as far as one
was matched to, or cut, what the other left. Such a key may not know of a likeness that no match saw.

Invariant: equal keys mean equal tokens (what an image's tokens represent is not among them).
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterator, Mapping
from functools import cached_property

import polars as pl

from kvlab.events import FrontierMoved, Matched, NodeBorn, NodeMerged, NodeRemoved, NodeSplit, RequestClosed
from kvlab.recording import Recording
from kvlab.recording.fold_nodes import NodeFold, NodeVersion

Fact = tuple[int, int, int]
"""(end, one, other): requests `one` and `other` begin with the same tokens up to `end`."""


class Run:
    """One recording, as far as it says what its nodes hold.

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
        return {request: _running_hash(tokens) for request, tokens in self.recording.tokens.items()}

    def holder(self, request: int | None, end: int, born: int) -> int | None:
        """Return the request whose first `end` tokens a node holds that was born in `request`, in a version begun with event `born`."""
        if request and self._reach.get(request, 0) >= end:
            return request
        # it grew in place: what it holds now is the text of the request that made it grow
        grown = self.recording.request_at(born)
        return grown if self._reach.get(grown, 0) >= end else None

    @cached_property
    def facts(self) -> list[Fact]:
        """Which requests begin alike: those that cut or came to rest on a node that another one left."""
        fold, frontier, under_way = NodeFold(), 0, 0
        found: list[Fact] = []
        for event in self.recording.replay(NodeBorn, NodeSplit, NodeMerged, NodeRemoved, FrontierMoved, Matched, RequestClosed):
            if isinstance(event, NodeSplit):
                found += self._alike(event.request, [version] if (version := fold.alive.get(event.node)) else [], event.end)
            elif isinstance(event, FrontierMoved):
                frontier = event.node
            elif isinstance(event, Matched):
                under_way = event.request
                found += self._alike(event.request, [one for one in _path(fold.alive, frontier) if (one.end or 0) <= event.matched])
            elif isinstance(event, RequestClosed) and event.request == under_way:
                # what was matched may have been cut or joined since
                found += self._alike(event.request, list(_path(fold.alive, frontier)))
            fold.take(event)
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


def _path(alive: Mapping[int, NodeVersion], frontier: int) -> Iterator[NodeVersion]:
    seen: set[int] = set()
    node: int | None = frontier
    # a node seen twice ends the walk: a damaged recording must not hang it
    while node is not None and node in alive and node not in seen:
        seen.add(node)
        yield alive[node]
        node = alive[node].parent


def _running_hash(tokens: list[int]) -> array[int]:
    hashes = array("q", [0])
    for token in tokens:
        hashes.append(hash((hashes[-1], token)))
    return hashes


class Prefixes:
    """Keys of what nodes hold, in two recordings.

    Attributes:
        runs: Both, A and B.
        by_tokens: Both stored their tokens, so keys are made of these.
    """

    def __init__(self, a: Recording, b: Recording) -> None:
        self.runs = Run(a), Run(b)
        self._classes: dict[int, dict[Hashable, Hashable]] = {}

    @cached_property
    def by_tokens(self) -> bool:
        """Whether both recordings stored the tokens of all their requests."""
        return all(run.requests and run.requests.keys() <= run.hashes.keys() for run in self.runs)

    def key(self, side: int, request: int, end: int) -> Hashable:
        """Return a key of the first `end` tokens of a request of A (0) or B (1)."""
        if self.by_tokens:
            hashes = self.runs[side].hashes[request]
            return hashes[end] if end < len(hashes) else ("unknown", side, request, end)
        return _found(self._alike_at(end), self._name(side, request))

    def _name(self, side: int, request: int) -> Hashable:
        """Return one name for a request that both recordings have, else one of its own side."""
        one, other = (run.requests.get(request, ("", -1)) for run in self.runs)
        # a label may be left out with the texts
        same = one[1] == other[1] and (one[0] == other[0] or not one[0] or not other[0])
        return request if same else (side, request)

    def _alike_at(self, end: int) -> dict[Hashable, Hashable]:
        if end not in self._classes:
            classes: dict[Hashable, Hashable] = {}
            for side, run in enumerate(self.runs):
                for reach, one, other in run.facts:
                    if reach >= end:
                        classes[_found(classes, self._name(side, one))] = _found(classes, self._name(side, other))
            self._classes[end] = classes
        return self._classes[end]


def _found(classes: dict[Hashable, Hashable], name: Hashable) -> Hashable:
    while (above := classes.get(name, name)) != name:
        classes[name] = classes.get(above, above)
        name = above
    return name
