"""The rules of sliding windows on both storages: upstream scenarios 31-33 of cache_test, 43-48 of snapshot_capture_test, 61-68 of rotating tests."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tests.layers.window_bench import ROW_BYTES, WindowBench

Make = Callable[[int], WindowBench]


@pytest.fixture(params=["spans", "mlx"])
def make(request: pytest.FixtureRequest) -> Make:
    return lambda window: WindowBench(request.param, window)


def test_31_a_wrapped_window_cannot_go_back(make: Make) -> None:
    bench = make(4)
    bench.say(10)
    assert not bench.layers.can_restore(None, 3)
    assert not bench.layers.restore(None, 3)
    assert (bench.offset, bench.held()) == (10, [7, 8, 9, 10])


def test_32_a_snapshot_restores_the_window(make: Make) -> None:
    bench = make(4)
    bench.say(6)
    bench.singles(4)
    snapshot = bench.take()
    bench.layers.free()
    assert bench.offset == 0
    assert bench.layers.restore(snapshot, 10)
    assert (bench.offset, bench.buffer()) == (10, [7, 8, 9, 10])


def test_a_snapshot_right_after_a_long_write_keeps_all_its_rows(make: Make) -> None:
    """`Snapshot` clones `State`, which holds up to window - 1 + n rows after a write of n (rotating.go, every version)."""
    bench = make(4)
    bench.say(6)
    bench.say(5)
    snapshot = bench.take()
    assert (snapshot.counted, snapshot.start, snapshot.end) == (8 * ROW_BYTES, 3, 11)
    bench.layers.free()
    assert bench.layers.restore(snapshot, 11)
    assert bench.buffer() == [4, 5, 6, 7, 8, 9, 10, 11]
    assert not bench.layers.can_restore(snapshot, 10)
    bench.say(1)
    assert bench.held() == [9, 10, 11, 12]


@pytest.mark.parametrize("singles", range(5))
def test_33_single_writes_after_a_restore_land_right(make: Make, singles: int) -> None:
    bench = make(4)
    bench.say(10 - singles)
    bench.singles(singles)
    snapshot = bench.take()
    bench.layers.free()
    bench.layers.restore(snapshot, 10)
    for last in range(11, 18):
        bench.say(1)
        assert bench.held() == list(range(last - 3, last + 1))


@pytest.mark.parametrize(("window", "before"), [(32, 4), (8, 4), (4, 10)])
@pytest.mark.parametrize("accepted", range(5))
def test_43_every_accepted_count_restores_its_own_window(make: Make, window: int, before: int, accepted: int) -> None:
    bench = make(window)
    bench.say(before)
    taken = [bench.take()]
    bench.say(4)
    taken += [bench.capture(before + count) for count in range(1, 5)]
    assert {one.state for one in taken[1:]} == {"lazy"}
    assert bench.layers.restore(taken[accepted], before + accepted)
    offset = before + accepted
    assert bench.held() == list(range(offset - min(offset, window) + 1, offset + 1))


def test_44_a_restore_before_the_end_leaves_the_snapshot_whole(make: Make) -> None:
    """A lazy snapshot that is restored stays lazy; the write that follows copies it out first, with its later rows."""
    bench = make(8)
    bench.say(6)
    snapshot = bench.capture(6)
    assert bench.layers.restore(snapshot, 4)
    assert (bench.held(), snapshot.state) == ([1, 2, 3, 4], "lazy")
    bench.say(3)
    assert (bench.held(), snapshot.state) == ([1, 2, 3, 4, 7, 8, 9], "owned")
    assert bench.layers.restore(snapshot, 6)
    assert bench.held() == [1, 2, 3, 4, 5, 6]


def test_44_a_restore_of_a_lazy_capture_copies_out_the_others(make: Make) -> None:
    bench = make(4)
    bench.say(4)
    bench.say(6)
    first, second = bench.capture(7), bench.capture(9)
    assert bench.layers.restore(first, 7)
    assert (first.state, second.state, bench.held()) == ("lazy", "owned", [4, 5, 6, 7])
    # the narrowed window is a part of the buffer that the write left
    assert bench.store.live_retained() >= 9 * ROW_BYTES
    bench.say(2)
    assert (first.state, first.counted, bench.held()) == ("owned", 4 * ROW_BYTES, [6, 7, 11, 12])
    assert bench.layers.restore(second, 9)
    assert bench.held() == [6, 7, 8, 9]


def test_45_a_restore_counts_nothing_and_the_next_write_once(make: Make) -> None:
    bench = make(8)
    bench.say(6)
    snapshot = bench.capture(6)
    grown: list[int] = []
    bench.registry.on_growth = lambda node: grown.append(node.counted)
    bench.place(snapshot)
    bench.layers.restore(snapshot, 4)
    assert (grown, bench.registry.counted) == ([], 0)
    bench.say(3)
    bench.say(3)
    assert grown == [6 * ROW_BYTES]
    assert bench.registry.counted == snapshot.counted == 6 * ROW_BYTES


@pytest.mark.parametrize("before", [1, 2, 3, 4, 7, 9])
def test_46_a_capture_at_a_single_write_restores_right(make: Make, before: int) -> None:
    bench = make(4)
    bench.singles(before)
    bench.say(1)
    snapshot = bench.capture(before + 1)
    assert snapshot.state == "owned"
    want = bench.held()
    assert want == list(range(max(1, before - 2), before + 2))
    bench.singles(3)
    assert bench.layers.restore(snapshot, before + 1)
    assert bench.held() == want


def test_47_captures_inside_two_long_writes_restore_exactly(make: Make) -> None:
    bench = make(6)
    taken = {}
    for capture in (4, 12):
        bench.say(8)
        taken[capture] = bench.capture(capture)
    assert bench.layers.restore(taken[4], 4)
    assert bench.held() == [1, 2, 3, 4]
    bench.layers.free()
    assert bench.layers.restore(taken[12], 12)
    assert bench.held() == [7, 8, 9, 10, 11, 12]


def test_48_a_lazy_capture_counts_from_the_free_on(make: Make) -> None:
    bench = make(4)
    bench.say(10)
    snapshot = bench.capture(10)
    node = bench.place(snapshot)
    assert (snapshot.state, bench.registry.counted, node.counted) == ("lazy", 0, 0)
    bench.layers.free()
    assert (snapshot.state, bench.registry.counted, node.counted) == ("owned", 4 * ROW_BYTES, 4 * ROW_BYTES)
    assert snapshot.retained >= snapshot.counted


def test_61_a_short_pass_after_a_wrap_keeps_what_its_first_token_sees(make: Make) -> None:
    bench = make(4)
    bench.say(3)
    bench.singles(6)
    bench.say(2)
    assert (bench.offset, bench.buffer(), bench.store.capacity) == (11, [7, 8, 9, 10, 11], 5)


def test_62_a_single_write_cuts_the_buffer_back_to_the_window(make: Make) -> None:
    bench = make(4)
    bench.say(6)
    bench.say(3)
    assert bench.buffer() == [4, 5, 6, 7, 8, 9]
    bench.say(1)
    assert (bench.buffer(), bench.store.capacity) == ([7, 8, 9, 10], 4)


def test_63_a_wide_window_holds_no_padding(make: Make) -> None:
    bench = make(512)
    for count in (3, 1, 3):
        bench.say(count)
    assert (bench.buffer(), bench.store.capacity) == ([1, 2, 3, 4, 5, 6, 7], 7)


def test_64_a_full_window_that_has_not_wrapped_can_go_back(make: Make) -> None:
    bench = make(8)
    bench.say(8)
    assert bench.layers.restore(None, 2)
    bench.say(3)
    assert (bench.offset, bench.buffer()) == (5, [1, 2, 9, 10, 11])


def test_65_two_passes_fill_the_window(make: Make) -> None:
    bench = make(4)
    bench.say(2)
    bench.say(2)
    assert bench.buffer() == [1, 2, 3, 4]


def test_66_long_passes_keep_a_window_less_one_before_them(make: Make) -> None:
    bench = make(4)
    bench.say(8)
    bench.say(8)
    assert bench.buffer() == list(range(6, 17))
    bench.say(4)
    assert bench.buffer() == list(range(14, 21))
    bench.say(1)
    assert bench.buffer() == [18, 19, 20, 21]


def test_67_several_turns(make: Make) -> None:
    bench = make(4)
    bench.say(2)
    bench.singles(5)
    bench.say(3)
    assert bench.buffer() == [5, 6, 7, 8, 9, 10]
    bench.singles(4)
    bench.say(2)
    assert bench.buffer() == [12, 13, 14, 15, 16]


def test_68_the_offset_is_the_running_total(make: Make) -> None:
    bench = make(4)
    for count, total in ((3, 3), (5, 8), (2, 10), (7, 17)):
        if total == 8:
            bench.singles(count)
        else:
            bench.say(count)
        assert bench.offset == total


@pytest.mark.parametrize("window", [4, 300, 600])
def test_rows_are_the_same_on_both_storages(window: int) -> None:
    rng = random.Random(window)
    benches = [WindowBench("spans", window), WindowBench("mlx", window)]
    taken = [bench.take() for bench in benches if not bench.say(3)]
    for _ in range(60):
        move, count = rng.random(), rng.choice([1, 1, 1, 2, 5, 40, 300])
        for place, bench in enumerate(benches):
            if move < 0.1:
                bench.layers.restore(None, bench.offset // 2)
            elif move < 0.2:
                bench.layers.restore(taken[place], taken[place].end)
            elif move < 0.3:
                taken[place] = bench.take()
            else:
                bench.say(count)
        spans, arrays = benches
        assert (spans.offset, spans.store.capacity, spans.held()) == (arrays.offset, arrays.store.capacity, arrays.held())
