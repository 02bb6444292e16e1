"""One request as upstream's tests make it: begin, schedule the given offsets, feed the prompt but its last token, attach, feed the reply.

After every step all invariants are checked; after every begin and close the contents of every layer are compared with a cold run;
at the end each snapshot ever taken is in the trie and open, or was closed exactly once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kvlab.allocator import Ledger
from kvlab.cache import Cache, PrefixCache, Session
from kvlab.cache.check import Checker, HasContents
from kvlab.events import Event, Log, SnapshotClosed, SnapshotTaken, Violation, Warned, WrongPositions
from kvlab.lab.span_model import SpanModel
from kvlab.policy import Policy
from kvlab.runner.drafts import Drafts
from kvlab.shape import Shape
from kvlab.trie import Node, to_keys
from kvlab.workloads import Request
from kvlab.workloads.request import GREEDY
from tests.cache.array_model import ArrayModel, same_as_cold, shape_of_kinds

SETS = {
    "kv": ("kv",),
    "kv+window": ("kv", "rotating"),
    "kv+recurrent": ("kv", "recurrent"),
    "holes": ("recurrent", "stateless", "kv", "stateless"),
}
"""The four layer sets of the scenarios, in layer order."""


@dataclass(frozen=True, slots=True)
class Ran:
    """What one request found and left: `pending` are the captures due right after its begin, `end` the offset it left the layers at."""

    matched: int
    cached: int
    left: int
    pending: tuple[int, ...]
    stream: tuple[int, ...]
    end: int


def assert_holds(cache: Cache, streams: Mapping[int, Sequence[int]], stream: Sequence[int], end: int) -> None:
    """Assert that every layer holds exactly what a cold run over `stream[:end]` leaves; `streams` are all tokens of every request."""
    for layer in cache.layers:
        store, ahead = layer.store, layer.kind == "draft_kv"
        assert store.offset == end
        if not isinstance(store, HasContents):
            assert same_as_cold(store, stream, end), layer.kind
            continue
        # who wrote what, told by the tokens that led there
        held = [(at, tuple(streams[run.writer][: at + 1 + ahead])) for run in store.contents(0, end) for at in range(run.start, run.end)]
        first = max(0, end - store.group.window) if store.group.window else 0
        assert held == [(at, tuple(stream[: at + 1 + ahead])) for at in range(first, end)], layer.kind


class Harness:
    """A prefix cache on one storage, and requests on it."""

    def __init__(self, shape: Shape, storage: str, policy: Policy | None = None) -> None:
        self.shape = shape
        self.look_ahead = shape.look_ahead
        self.model = SpanModel(shape) if storage == "spans" else ArrayModel(shape)
        self.log = Log()
        self.events: list[Event] = []
        self.checker = Checker()
        self.cache = PrefixCache(self.model.stores, policy or Policy(), Ledger(self.model.meter, self.log.append), self.log.append, self.look_ahead)
        self.streams: dict[int, tuple[int, ...]] = {}

    @property
    def rewindable(self) -> bool:
        """Every layer can go back to any offset: the set of KV layers only."""
        return all(layer.rewinds for layer in self.cache.layers)

    def run(self, tokens: Sequence[int], generated: Sequence[int] = (), captures: Sequence[int] = (), cancel_at: int | None = None) -> Ran:
        """Run one request; with `cancel_at` its prefill ends there and it is cancelled without an attach."""
        model, number = self.model, len(self.streams) + 1
        stream = (*tokens, *generated)
        self.streams[number] = stream
        model.encode(Request(tokens=tuple(tokens)))
        model.begin(number, GREEDY, list(generated))
        self.checker.begin(number, list(stream))
        session = self.cache.begin(tokens)
        pending = session.captures.due()
        self.check(session, "begin")
        self.assert_holds(stream, session.cached)
        session.schedule(captures)
        drafts = Drafts(self.cache, session, self.model)
        self._feed(session, drafts, cancel_at if cancel_at is not None else len(tokens) - 1)
        drafts.settle()
        if cancel_at is not None:
            session.cancel()
        else:
            session.attach()
            self.check(session, "attach")
            self._reply(session, drafts, generated)
            drafts.settle()
            session.close(generated)
        self.check(session, "close")
        self.assert_holds(stream, self.cache.offset)
        return Ran(session.matched, session.cached, session.left, pending, stream, self.cache.offset)

    def _feed(self, session: Session, drafts: Drafts, last: int) -> None:
        at = session.cached
        while at < last:
            edge = session.captures.ends_forward(last)
            with session.writing(edge - at, last - at):
                self.model.prefill(session.tokens[at:edge])
            session.capture()
            self.check(session, "prefill")
            at = edge
        drafts.follow()

    def _reply(self, session: Session, drafts: Drafts, generated: Sequence[int]) -> None:
        for token in [session.tokens[-1], *generated][: len(generated)]:
            with session.writing(1):
                self.model.decode(token)
            drafts.follow()
            self.check(session, "decode")

    def check(self, session: Session, phase: str) -> None:
        """Assert every invariant."""
        self.checker.check(self.cache, session, phase, self.log)
        new = list(self.log.drain())
        self.events += new
        assert [one for one in new if isinstance(one, Violation | WrongPositions | Warned)] == []

    def assert_holds(self, stream: Sequence[int], end: int) -> None:
        """Assert that every layer holds exactly what a cold run over `stream[:end]` leaves."""
        assert_holds(self.cache, self.streams, stream, end)

    def finish(self) -> None:
        """Assert that snapshots are conserved."""
        self.events += list(self.log.drain())
        taken = {one.snapshot for one in self.events if isinstance(one, SnapshotTaken)}
        closed = Counter(one.snapshot for one in self.events if isinstance(one, SnapshotClosed))
        kept = [snapshot for node in self.nodes() for snapshot in node.snapshots if snapshot is not None]
        assert all(one.state != "closed" for one in kept)
        assert set(closed.values()) <= {1}
        assert taken - set(closed) == {one.id for one in kept}
        assert len(taken) == self.cache.registry.created
        assert len(kept) == self.cache.registry.open

    def nodes(self) -> list[Node]:
        """Every node but the root."""
        return [node for node in self.cache.trie.walk() if node.parent is not None]

    def node_at(self, end: int) -> Node:
        """The only node that ends at `end`."""
        (found,) = [node for node in self.nodes() if node.end == end]
        return found

    def matched(self, tokens: Sequence[int]) -> int:
        """How many keys of `tokens` are found in the trie."""
        return self.cache.trie.match(to_keys(tokens, self.look_ahead)).matched

    def price(self, node: Node, each: int) -> None:
        """Let every snapshot of `node` count for `each` bytes."""
        for snapshot in node.snapshots:
            if snapshot is not None:
                node.counted += each - snapshot.counted
                self.cache.registry.counted += each - snapshot.counted
                snapshot.counted = each
        self.cache.registry.on_growth(node)


def harness(kinds: Sequence[str], look_ahead: int, storage: str, policy: Policy | None = None) -> Harness:
    """Return a harness over layer kinds in layer order."""
    return Harness(shape_of_kinds(kinds, look_ahead), storage, policy)
