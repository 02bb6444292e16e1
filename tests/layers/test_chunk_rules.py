"""The rules of chunked windows on both storages, against what llama4's mask lets a token see: the tokens of its own chunk."""

from __future__ import annotations

import random

import pytest

from kvlab.layers import Snapshot
from tests.layers.window_bench import ROW_BYTES, WindowBench

CHUNK = 8


@pytest.fixture(params=["spans", "mlx"])
def bench(request: pytest.FixtureRequest) -> WindowBench:
    return WindowBench(request.param, CHUNK, chunked=True)


def test_a_forward_lets_go_of_all_but_the_last_chunk_when_it_begins(bench: WindowBench) -> None:
    bench.say(20)
    assert (bench.buffer(), bench.store.capacity) == (list(range(1, 21)), 256)
    bench.say(1)
    # 8 rows are left, which is no multiple of 256, and the buffer grows by 256
    assert (bench.buffer(), bench.store.capacity) == (list(range(13, 22)), CHUNK + 256)


def test_a_live_chunk_goes_back_to_where_all_is_there(bench: WindowBench) -> None:
    bench.say(20)
    bench.say(1)
    # rows 12 to 20 are held: the chunk [16, 24) is whole, [8, 16) is not
    assert [target for target in range(21) if bench.layers.can_restore(None, target)] == [16, 17, 18, 19, 20]
    assert not bench.layers.restore(None, 15)
    assert bench.layers.restore(None, 17)
    bench.say(2)
    assert bench.buffer() == [13, 14, 15, 16, 17, 22, 23]


def test_a_snapshot_holds_the_last_chunk_and_restores_within_it(bench: WindowBench) -> None:
    bench.say(21)
    snapshot = bench.take()
    assert (snapshot.start, snapshot.end, snapshot.counted) == (13, 21, CHUNK * ROW_BYTES)
    bench.layers.free()
    assert (bench.offset, bench.layers.can_restore(snapshot, 15), bench.layers.can_restore(snapshot, 22)) == (0, False, False)
    assert bench.layers.restore(snapshot, 18)
    assert bench.buffer() == [14, 15, 16, 17, 18]
    bench.say(1)
    assert bench.layers.restore(snapshot, 21)
    assert bench.buffer() == list(range(14, 22))


def test_at_the_beginning_of_a_chunk_nothing_is_needed(bench: WindowBench) -> None:
    bench.say(17)
    bench.say(1)
    assert bench.layers.restore(None, 16)
    snapshot = bench.take()
    assert (snapshot.start, snapshot.counted) == (9, 7 * ROW_BYTES)
    bench.layers.free()
    assert bench.layers.restore(snapshot, 16)
    bench.say(3)
    assert bench.buffer()[-3:] == [19, 20, 21]


def test_random_steps_hold_what_a_token_sees() -> None:
    restored = refused = 0
    for seed in range(60):
        rng = random.Random(seed)
        benches = [WindowBench(storage, CHUNK, chunked=True) for storage in ("spans", "mlx")]
        stream: list[int] = []
        said, first = 0, 0
        kept: list[tuple[list[Snapshot], list[int]]] = []
        for _ in range(40):
            step = rng.random()
            if step < 0.5 or not stream:
                count = rng.choice((1, 1, 1, 3, 9, 20))
                first = max(first, len(stream) - CHUNK)
                stream += range(said + 1, said + count + 1)
                said += count
                for bench in benches:
                    bench.say(count)
            elif step < 0.7:
                taken = [bench.take() for bench in benches]
                assert len({(one.start, one.end, one.counted) for one in taken}) == 1
                kept.append((taken, list(stream)))
            elif step < 0.85 and kept:
                snapshots, then = rng.choice(kept)
                target = rng.randint(max(1, len(then) - 10), len(then))
                held = max(0, snapshots[0].start)
                can = target == len(then) or held <= target // CHUNK * CHUNK
                assert [bench.layers.restore(one, target) for bench, one in zip(benches, snapshots, strict=True)] == [can, can]
                restored, refused = restored + can, refused + (not can)
                if can:
                    stream, first = then[:target], held
            else:
                target = rng.randint(max(0, len(stream) - 12), len(stream))
                can = target == len(stream) or first <= target // CHUNK * CHUNK
                assert [bench.layers.restore(None, target) for bench in benches] == [can, can]
                restored, refused = restored + can, refused + (not can)
                stream = stream[:target] if can else stream
            seen = stream[len(stream) // CHUNK * CHUNK :]
            for bench in benches:
                assert bench.offset == len(stream)
                assert bench.buffer() == stream[first:]
                assert bench.buffer()[len(bench.buffer()) - len(seen) :] == seen
            assert benches[0].store.capacity == benches[1].store.capacity
            assert benches[0].store.live_logical() == benches[1].store.live_logical()
    assert min(restored, refused) > 100
