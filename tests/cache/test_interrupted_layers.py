"""A forward that is interrupted leaves layers at different offsets: at once all go back to one that every layer can hold."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from kvlab.cache.check import level, path
from kvlab.events import Event, Matched
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.workloads import Request
from tests.cache.array_model import ArrayModel, same_as_cold, shape_of_kinds
from tests.cache.harness import SETS

POLICY = Policy(prefill_chunk=4, capture_grid=8, capture_before_end=0)
FIRST = Request(tokens=tuple(range(1, 15)), generated=(90, 91))
AFTER = {"shares": Request(tokens=(*range(1, 11), *range(30, 50)), generated=(92, 93)), "cold": Request(tokens=tuple(range(20, 50)), generated=(92, 93))}


class Fails(ArrayModel):
    """Its prefill number `fails_at` is interrupted after the first layer group was written."""

    fails_at = -1

    def prefill(self, tokens: Sequence[int]) -> None:
        self.fails_at -= 1
        stores = self.stores
        if self.fails_at == 0:
            self.stores = stores[:1]
        try:
            super().prefill(tokens)
        finally:
            self.stores = stores
        if self.fails_at == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("kinds", SETS.values(), ids=SETS)
@pytest.mark.parametrize("fails_at", range(1, 9))
@pytest.mark.parametrize("on_cancel", ["attach", "discard"])
@pytest.mark.parametrize("after", AFTER)
def test_all_layers_go_back_to_one_offset_at_once(kinds: tuple[str, ...], fails_at: int, on_cancel: str, after: str) -> None:
    second = AFTER[after]
    model = Fails(shape_of_kinds(kinds, 0))
    runner = Runner(model, POLICY.replace(on_cancel=on_cancel))
    list(runner.step(FIRST))
    model.fails_at = fails_at
    cut = False
    try:
        list(runner.step(second))
    except KeyboardInterrupt:
        cut = True
    assert cut == (model.fails_at <= 0)
    cache = runner.cache
    assert list(level(cache)) == []
    assert list(path(cache, closed=True)) == []
    assert all(same_as_cold(store, [*second.tokens, 92, 93], cache.offset) for store in model.stores)
    model.fails_at = -1
    found = matched(list(runner.step(second)))
    assert found.cached <= found.matched
    assert all(same_as_cold(store, [*second.tokens, 92, 93], 31) for store in model.stores)


def matched(events: list[Event]) -> Matched:
    return next(event for event in events if isinstance(event, Matched))
