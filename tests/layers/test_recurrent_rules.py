"""The rules of recurrent layers: upstream scenarios 52-55 of recurrent_test; 52 on both storages, the others on mlx-lm's Gated-DeltaNet."""

# pyright: standard
from __future__ import annotations

from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import ArraysCache

from kvlab.allocator import Ledger
from kvlab.events import Log
from kvlab.lab.span_model import SpanMeter
from kvlab.layers import SnapshotRegistry
from kvlab.layers.mlx_state import MLXRecurrentStore
from kvlab.layers.state import StateLayers
from kvlab.policy import Policy
from kvlab.shape import LayerGroup
from tests.cache.harness import harness
from tests.lab.nets import hybrid

STREAM = tuple(range(1, 17))


class DeltaBench:
    """One Gated-DeltaNet layer whose activations are of `kind`, and its state under kvlab's rules."""

    def __init__(self, kind: mx.Dtype = mx.float32) -> None:
        # some of the layer's weights are drawn when it is made
        mx.random.seed(1)
        net = hybrid()
        net.set_dtype(kind)
        self.net: Any = net.model.layers[0].linear_attn  # pyright: ignore[reportAttributeAccessIssue, reportOptionalMemberAccess]
        self.cache = ArraysCache(2)
        log = Log()
        registry = SnapshotRegistry(Ledger(SpanMeter(0), log.append), log.append)
        self.layers = StateLayers(0, MLXRecurrentStore(LayerGroup("recurrent", (0,), 0, 1), [self.cache]), Policy(), registry)

    def forward(self, inputs: mx.array, real: int | None = None) -> np.ndarray:
        """Evaluate inputs [1, tokens, 64], of which the first `real` are no padding; return the outputs."""
        tokens = inputs.shape[1]
        self.layers.will_write(tokens)
        if real is not None:
            self.cache.prepare(lengths=[real])
        out = self.net(inputs, self.cache.make_mask(tokens), self.cache)
        self.cache.finalize()
        mx.eval(out, self.cache.cache)
        self.layers.wrote(tokens if real is None else real)
        return np.array(out)

    def state(self) -> list[np.ndarray]:
        """Return the convolution's state and the delta state."""
        return [np.array(one) for one in self.cache.cache]


def inputs(tokens: int, kind: mx.Dtype = mx.float32) -> mx.array:
    return mx.random.normal((1, tokens, 64), key=mx.random.key(3)).astype(kind)


@pytest.mark.parametrize("storage", ["spans", "mlx"])
def test_52_a_state_restores_only_where_it_was_taken(storage: str) -> None:
    bench = harness(["recurrent"], 0, storage)
    ran = bench.run(STREAM[:11])
    assert ran.end == 10
    layer, snapshot = bench.cache.layers[0], bench.node_at(10).snapshots[0]
    layer.free()
    for target, can in ((5, False), (15, False), (10, True)):
        assert layer.can_restore(snapshot, target) == can
        assert layer.restore(snapshot, target) == can
        assert layer.offset == (10 if can else 0)
    bench.assert_holds(STREAM, 10)


def test_53_an_empty_state_does_not_advance_and_keeps_its_types() -> None:
    """mlx-lm makes the state in the first forward: before it there is none and the offset is 0."""
    bench = DeltaBench(mx.float16)
    assert bench.layers.restore(None, 0)
    assert bench.layers.snapshot(0) is None
    assert (bench.layers.offset, bench.layers.store.live_logical(), bench.cache.cache) == (0, 0, [None, None])
    bench.forward(inputs(3, mx.float16))
    assert [one.dtype for one in bench.state()] == [np.float16, np.float32]
    snapshot = bench.layers.snapshot(0)
    bench.layers.free()
    assert bench.layers.offset == 0
    assert bench.layers.restore(snapshot, 3)
    assert [one.dtype for one in bench.state()] == [np.float16, np.float32]


def test_54_a_padded_forward_leaves_the_state_of_an_unpadded_one() -> None:
    padded, plain = DeltaBench(), DeltaBench()
    given = inputs(7)
    padded.forward(given, real=4)
    plain.forward(given[:, :4])
    assert padded.layers.offset == plain.layers.offset == 4
    for one, other in zip(padded.state(), plain.state(), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    follow = inputs(1)
    np.testing.assert_allclose(padded.forward(follow), plain.forward(follow), rtol=1e-4, atol=1e-4)


def test_55_a_write_advances_by_its_real_length() -> None:
    bench = DeltaBench()
    bench.forward(inputs(6), real=4)
    assert bench.layers.offset == 4
    bench.forward(inputs(1))
    snapshot = bench.layers.snapshot(0)
    assert snapshot is not None
    assert (bench.layers.offset, snapshot.end) == (5, 5)
