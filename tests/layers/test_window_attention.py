"""Attention over mlx-lm's own window, saved and restored by kvlab on the way: upstream scenarios 56-60 of the rotating tests.

The reference is plain numpy over all tokens in logical order, each seeing the window that ends at it.
"""

# pyright: standard
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx_lm.models.cache import KVCache, RotatingKVCache

from kvlab.allocator import Ledger
from kvlab.events import Log
from kvlab.lab.span_model import SpanMeter
from kvlab.layers import KVLayers, SnapshotRegistry
from kvlab.layers.mlx_kv import MLXKVStore
from kvlab.layers.mlx_state import MLXRotatingStore
from kvlab.layers.state import StateLayers
from kvlab.policy import Policy
from kvlab.shape import LayerGroup

WINDOW, HEADS, DIM, LATENT = 4, 2, 8, 5
TOKENS = 23


class Attention:
    """One attention layer without weights: its queries, keys and values are given; a window of 0 is full attention."""

    def __init__(self, window: int = WINDOW, *, latent: bool = False) -> None:
        rng = np.random.default_rng(5)
        self.queries, self.keys, self.values = (rng.normal(size=(1, HEADS, TOKENS, DIM)).astype(np.float32) for _ in range(3))
        if latent:
            # values are part of the keys, so none are stored
            self.values = self.keys[..., :LATENT]
        self.latent = latent
        self.window = window or TOKENS
        self.cache: Any = RotatingKVCache(window) if window else KVCache()
        log = Log()
        registry = SnapshotRegistry(Ledger(SpanMeter(0), log.append), log.append)
        group = LayerGroup("rotating", (0,), 1, 1, window) if window else LayerGroup("kv", (0,), 1)
        self.layers = (
            StateLayers(0, MLXRotatingStore(group, [self.cache]), Policy(), registry)
            if window
            else KVLayers(0, MLXKVStore(group, [self.cache]), Policy(), registry)
        )

    def forward(self, count: int, mask: Callable[[int], Any] | None = None) -> np.ndarray:
        """Evaluate the next `count` tokens; `mask` makes a mask of the rows there are, by default it is the cache's own."""
        at = self.layers.offset
        own = self.cache.make_mask(count, return_array=False, window_size=None)
        self.layers.will_write(count)
        new = self.keys[:, :, at : at + count], self.values[:, :, at : at + count, : 0 if self.latent else DIM]
        keys, values = self.cache.update_and_fetch(*map(mx.array, new))
        if self.latent:
            values = keys[..., :LATENT]
        out = mx.fast.scaled_dot_product_attention(
            mx.array(self.queries[:, :, at : at + count]), keys, values, scale=DIM**-0.5, mask=own if mask is None else mask(keys.shape[2])
        )
        mx.eval(out, self.cache.keys, self.cache.values)
        self.layers.wrote(count)
        return np.array(out)

    def reload(self) -> None:
        """Take a snapshot, let the live buffers go, and restore it."""
        snapshot, end = self.layers.snapshot(0), self.layers.offset
        self.layers.free()
        assert self.layers.offset == 0
        assert self.layers.restore(snapshot, end)

    def reference(self, start: int, end: int, window: int | None = None) -> np.ndarray:
        """Return what tokens [start, end) must give."""
        outs: list[np.ndarray] = []
        for at in range(start, end):
            seen = slice(max(0, at + 1 - (window or self.window)), at + 1)
            scores = np.einsum("hd,hkd->hk", self.queries[0, :, at], self.keys[0, :, seen]) * DIM**-0.5
            weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
            outs.append(np.einsum("hk,hkd->hd", weights / weights.sum(axis=-1, keepdims=True), self.values[0, :, seen]))
        return np.stack(outs, axis=1)[None]


def assert_close(one: np.ndarray, other: np.ndarray) -> None:
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def no_mask(rows: int) -> None:
    del rows


def causal(rows: int) -> str:
    del rows
    return "causal"


def zeros(rows: int) -> mx.array:
    return mx.zeros((1, rows))


MASKS: dict[str, Callable[[int], Any]] = {"none": no_mask, "causal": causal, "tensor": zeros}


@pytest.mark.parametrize("mask", MASKS)
def test_56_decode_past_the_wrap_equals_logical_order(mask: str) -> None:
    layer = Attention()
    layer.forward(3)
    for at in range(3, 18):
        layer.reload()
        assert_close(layer.forward(1, MASKS[mask]), layer.reference(at, at + 1))


def test_56_a_mask_over_the_ring_selects_in_logical_order() -> None:
    layer = Attention()
    layer.forward(3)
    for at in range(3, 18):
        layer.reload()
        own = layer.cache.make_mask(1, window_size=2)
        out = layer.forward(1, lambda rows, own=own: None if own is None else own[:rows])
        assert_close(out, layer.reference(at, at + 1, window=2))


@pytest.mark.parametrize("before", [2, 4, 7, 12])
def test_57_one_query_sees_all_rows_under_any_mask(before: int) -> None:
    """An assistant's view is one query over the window as it stands."""
    outs: list[np.ndarray] = []
    for mask in MASKS.values():
        layer = Attention()
        layer.forward(before)
        layer.forward(1)
        layer.reload()
        outs.append(layer.forward(1, mask))
    for out in outs[1:]:
        assert_close(out, outs[0])


@pytest.mark.parametrize("passes", [(23,), (3, 5, 15), (8, 8, 7), (2, 1, 1, 1, 6, 1, 11)])
def test_58_prefill_in_any_passes_equals_the_reference(passes: tuple[int, ...]) -> None:
    layer = Attention()
    outs = [layer.forward(count) for count in passes]
    assert_close(np.concatenate(outs, axis=2), layer.reference(0, TOKENS))


@pytest.mark.parametrize("captures", [(4,), (2, 3, 9), (1, 11, 12, 22)])
def test_59_captures_do_not_change_the_output(captures: tuple[int, ...]) -> None:
    """A capture ends a pass: the passes it makes give what one pass gives."""
    plain, captured = Attention(), Attention()
    outs: list[np.ndarray] = []
    for end in (*captures, TOKENS):
        outs.append(captured.forward(end - captured.layers.offset))
        assert captured.layers.snapshot(0) is not None
    assert_close(np.concatenate(outs, axis=2), plain.forward(TOKENS))


@pytest.mark.parametrize("window", [WINDOW, 0])
def test_60_values_of_no_width_equal_the_reference(window: int) -> None:
    """Latent attention keeps its values in the keys and stores none."""
    layer = Attention(window, latent=True)
    outs: list[np.ndarray] = []
    for count in (3, 6, 1, 1, 5, 1, 1, 1, 4):
        outs.append(layer.forward(count))
        layer.reload()
        assert layer.cache.values.shape[-1] == 0
    assert_close(np.concatenate(outs, axis=2), layer.reference(0, TOKENS))
