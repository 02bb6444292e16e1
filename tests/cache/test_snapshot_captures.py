"""Upstream scenarios 34, 41, 42 and 49-51 of snapshot_capture_test: captures on their way from a session to nodes, on both storages.

KV captures are taken from what one pass left; a pass of recurrent layers ends at every capture.
"""

from __future__ import annotations

from collections.abc import Callable

import mlx.core as mx
import pytest
from mlx_lm.models.cache import KVCache

from kvlab.allocator import Ledger
from kvlab.cache import PrefixCache
from kvlab.cache.captures import Captures
from kvlab.cache.session import Session
from kvlab.events import Log
from kvlab.lab.span_model import SpanMeter
from kvlab.layers import Snapshot
from kvlab.layers.mlx_kv import MLXKVStore
from kvlab.policy import Policy
from kvlab.shape import LayerGroup
from kvlab.workloads import Request
from kvlab.workloads.request import GREEDY
from tests.cache.harness import Harness, harness

STREAM = tuple(range(1, 15))
Make = Callable[[str], Harness]


@pytest.fixture(params=["spans", "mlx"])
def make(request: pytest.FixtureRequest) -> Make:
    return lambda kind: harness([kind], 0, request.param)


def resumed(bench: Harness, at: int) -> Session:
    """Let one request leave the layers at offset `at`, and begin a second that goes on from there."""
    bench.run(STREAM[: at + 1], captures=[at])
    bench.streams[2] = STREAM
    bench.model.encode(Request(tokens=STREAM))
    bench.model.begin(2, GREEDY, None)
    bench.checker.begin(2, list(STREAM))
    session = bench.cache.begin(STREAM)
    assert (session.cached, bench.cache.offset) == (at, at)
    return session


def feed(bench: Harness, session: Session, end: int) -> list[int]:
    """Evaluate up to `end` in the passes that the runner would make, and return where they ended."""
    at, edges = bench.cache.offset, []
    while at < end:
        edge = session.captures.ends_forward(end)
        with session.writing(edge - at, end - at):
            bench.model.prefill(STREAM[at:edge])
        session.capture()
        bench.check(session, "prefill")
        at = edge
        edges.append(edge)
    return edges


def captures(session: Session) -> Captures:
    assert isinstance(session.captures, Captures)
    return session.captures


def spans(session: Session) -> list[tuple[int, int]]:
    """Return the spans of what was captured and waits for a node."""
    return [(one.start, one.end) for _, _, snapshots in captures(session)._taken for one in snapshots]


def ended(bench: Harness, session: Session) -> None:
    session.close([])
    bench.check(session, "close")
    bench.finish()


def test_34_captures_allocate_nothing() -> None:
    """16 tokens in one pass, then 8 with a capture at each; after a rewind to half of them all are closed."""
    group = LayerGroup("kv", (0,), 2 * 4096 * 4)
    store = MLXKVStore(group, [KVCache()])
    log = Log()
    layer = PrefixCache([store], Policy(), Ledger(SpanMeter(0), log.append), log.append).layers[0]

    def write(count: int) -> None:
        layer.will_write(count)
        store.caches[0].update_and_fetch(mx.ones((1, 1, count, 4096)), mx.ones((1, 1, count, 4096)))
        mx.eval(store.caches[0].keys, store.caches[0].values)

    write(16)
    before = mx.get_active_memory()
    taken = [layer.snapshot(0)]
    for at in range(16, 24):
        write(1)
        taken.append(layer.snapshot(at))
    assert layer.restore(None, 20)
    for one in taken:
        assert one is not None
        assert one.counted == 0
        layer.close(one)
    assert mx.get_active_memory() - before < group.bytes_per_token


@pytest.mark.parametrize("accepted", range(5))
def test_41_captures_at_each_token_and_a_rewind_to_any_of_them(make: Make, accepted: int) -> None:
    """A capture at the resume offset would be empty and is not taken."""
    bench = make("kv")
    session = resumed(bench, 6)
    session.schedule([6, 7, 8, 9])
    assert feed(bench, session, 10) == [10]
    assert spans(session) == [(6, 7), (7, 8), (8, 9)]
    assert bench.cache.layers[0].restore(None, 6 + accepted)
    bench.assert_holds(STREAM, 6 + accepted)
    bench.cache.layers[0].restore(None, 10)
    session.captures.discard()
    assert session.captures.held() == 0


@pytest.mark.parametrize("owned", [False, True])
def test_42_adjacent_captures_merge_and_split_back(make: Make, owned: bool) -> None:  # noqa: FBT001
    bench = make("kv")
    session = resumed(bench, 6)
    session.schedule([7, 8, 9])
    feed(bench, session, 10)
    layer = bench.cache.layers[0]
    first, second, third = (one for _, _, snapshots in captures(session)._taken for one in snapshots)
    captures(session)._taken = []
    node = bench.cache.path.frontier
    if owned:
        layer.free()
        assert node.snapshots[0] is not None
        assert layer.restore(node.snapshots[0], 6)
    whole = merged(bench, merged(bench, first, second), third)
    assert (whole.start, whole.end, whole.state) == (6, 9, "owned" if owned else "lazy")
    halves = layer.split(whole, 8)
    assert [(one.start, one.end) for one in halves if one is not None] == [(6, 8), (8, 9)]
    for one, end in zip(halves, (8, 9), strict=True):
        if not owned and end == 8:
            layer.restore(None, 6)
        assert layer.restore(one, end)
        bench.assert_holds(STREAM, end)
    for one in halves:
        assert one is not None
        layer.close(one)
    ended(bench, session)


def merged(bench: Harness, first: Snapshot, second: Snapshot) -> Snapshot:
    joined = bench.cache.layers[0].merge(first, second)
    assert joined is not None
    return joined


def test_49_captures_outlive_several_writes(make: Make) -> None:
    """One at the resume offset would be empty and is not taken."""
    bench = make("kv")
    session = resumed(bench, 2)
    session.schedule([2, 3, 5])
    feed(bench, session, 4)
    feed(bench, session, 6)
    assert spans(session) == [(2, 3), (3, 5)]
    ended(bench, session)


def test_50_a_recurrent_state_is_captured_at_each_boundary(make: Make) -> None:
    """The state at the resume offset is on its node already; the others come from passes that end there."""
    bench = make("recurrent")
    session = resumed(bench, 5)
    session.schedule([5, 6, 7, 8])
    edges = feed(bench, session, 9)
    assert [edge - 5 for edge in edges[:-1]] == [1, 2, 3]
    assert bench.cache.offset - 5 == 4
    ended(bench, session)
    for offset in (5, 6, 7, 8):
        assert bench.cache.layers[0].restore(bench.node_at(offset).snapshots[0], offset)
        bench.assert_holds(STREAM, offset)


def test_51_an_offset_already_passed_is_not_scheduled(make: Make) -> None:
    """Upstream panics; here it is dropped like one at or before the resume offset, and those still ahead are captured."""
    bench = make("kv")
    session = bench.cache.begin(STREAM)
    bench.streams[1] = STREAM
    bench.model.encode(Request(tokens=STREAM))
    bench.model.begin(1, GREEDY, None)
    bench.checker.begin(1, list(STREAM))
    feed(bench, session, 4)
    session.schedule([3, 4, 6])
    assert session.captures.due() == (6,)
    feed(bench, session, 8)
    assert spans(session) == [(0, 6)]
    ended(bench, session)
