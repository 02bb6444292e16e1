"""A product of one row in pieces is the product of the whole matrix, and only the layers that gain from it are changed."""

from __future__ import annotations

import mlx.core as mx
import numpy as np
import pytest
from mlx import nn

from kvlab.models import one_row, open_model


class Net(nn.Module):
    def __init__(self, rows: int, inner: int, *, bias: bool) -> None:
        super().__init__()
        self.embed = nn.Embedding(rows, inner)
        self.up = nn.Linear(inner, rows, bias=bias)


@pytest.mark.parametrize(("rows", "inner", "bias"), [(1536, 576, True), (1536, 576, False), (49152, 576, False), (999_983, 3, True), (5, 7, True)])
@pytest.mark.parametrize("count", [1, 3])
def test_it_is_the_product_of_the_whole_matrix(rows: int, inner: int, bias: bool, count: int) -> None:  # noqa: FBT001  pytest gives it
    net = Net(rows, inner, bias=bias)
    x = mx.random.normal((1, count, inner), key=mx.random.key(1))
    one_row.split(net)
    for made, weight, added in ((net.up(x), net.up.weight, net.up.bias if bias else 0), (net.embed.as_linear(x), net.embed.weight, 0)):
        wanted = np.array(x, dtype=np.float64) @ np.array(weight, dtype=np.float64).T + np.array(added)
        assert made.shape == (1, count, rows)
        assert float(np.abs(np.array(made) - wanted).max()) <= 1e-5 * inner**0.5


def test_the_pieces_cover_the_matrix_and_are_small() -> None:
    for rows, inner in ((1536, 576), (49152, 576), (50257, 768), (152064, 896), (300_000, 1), (7, 100_000)):
        count = one_row._pieces(rows, inner)
        assert rows % count == 0
        assert count == 1 or rows // count * inner <= one_row.MOST


def test_small_half_precision_and_quantised_layers_stay_as_they_are() -> None:
    small, half, quantised = Net(100, 100, bias=False), Net(2048, 1024, bias=False), Net(2048, 1024, bias=False)
    half.set_dtype(mx.bfloat16)
    nn.quantize(quantised)
    for net in (small, half, quantised):
        before = [type(layer) for layer in net.modules()]
        one_row.split(net)
        assert [type(layer) for layer in net.modules()] == before


def test_a_model_answers_as_it_did(monkeypatch: pytest.MonkeyPatch) -> None:
    tokens = mx.array([[5, 900, 17, 45000, 3]])
    split = open_model("smollm2").net
    monkeypatch.setattr(one_row, "split", id)
    whole = open_model("smollm2").net
    assert any(type(layer).__module__ == "kvlab.models.one_row" for layer in split.modules()) != any(
        type(layer).__module__ == "kvlab.models.one_row" for layer in whole.modules()
    )
    for count in (1, 5):
        one, other = (np.array(net(tokens[:, :count])) for net in (split, whole))
        assert float(np.abs(one - other).max()) <= 1e-4 * float(np.abs(other).max())
