"""A small llama with random weights and one token per byte: real arrays in milliseconds, for tests, benches and the curious."""

# pyright: standard
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kvlab.models import blas, precision
from kvlab.models.mlx_model import MLXModel
from kvlab.models.tokens import TableDecoder

if TYPE_CHECKING:
    import mlx.core as mx
    from mlx import nn

    from kvlab.runner.model import Decoder


class ByteTokenizer:
    """One token per byte of UTF-8. Nothing ends a reply.

    Args:
        vocabulary: Token ids run from 0 to here; those from 256 on stand for no text.
    """

    __slots__ = ("stop_tokens", "vocabulary")

    def __init__(self, vocabulary: int = 256) -> None:
        self.vocabulary = vocabulary
        self.stop_tokens: frozenset[int] = frozenset()

    def encode(self, text: str) -> list[int]:
        """Return the text's bytes."""
        return list(text.encode())

    def chat(self, messages: Sequence[tuple[str, str]], *, reply: bool = True) -> list[int]:
        """Return the bytes of `role: content` lines and, with `reply`, of `assistant: `."""
        return self.encode("".join(f"{role}: {content}\n" for role, content in messages) + ("assistant: " if reply else ""))

    def thinking_start(self, tokens: Sequence[int]) -> None:
        """Return None: nothing begins a thinking."""

    def decoder(self) -> Decoder:
        """Return a new text decoder."""
        return TableDecoder([bytes((byte,)) for byte in range(256)])


def random_llama(
    layers: int = 2,
    hidden: int = 64,
    heads: int = 4,
    kv_heads: int = 2,
    vocab: int = 256,
    seed: int = 0,
    *,
    context: int = 4096,
) -> MLXModel:
    """Return a llama with random float32 weights, drawn from `seed` alone.

    Args:
        layers: Layers, all full attention.
        hidden: Width; a multiple of `heads`.
        heads: Query heads.
        kv_heads: Key and value heads; a divisor of `heads`.
        vocab: Token ids run from 0 to here.
        seed: Two models of one seed and size have equal weights.
        context: Tokens the model can hold.
    """
    from mlx_lm.models import llama

    blas.route()
    args = llama.ModelArgs(
        model_type="llama",
        hidden_size=hidden,
        num_hidden_layers=layers,
        intermediate_size=2 * hidden,
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        rms_norm_eps=1e-5,
        vocab_size=vocab,
        max_position_embeddings=context,
        # with tied embeddings a random net mostly repeats its last token
        tie_word_embeddings=False,
    )

    def net() -> nn.Module:
        return _drawn_net(llama.Model(args), seed)

    origin = {"file": f"random llama, seed {seed}", "dtype": "float32", "device": precision.device()}
    return MLXModel(f"random-llama-{layers}x{hidden}", net(), ByteTokenizer(vocab), context=context, origin=origin, again=net)


RANDOM_CONV = "random-conv"
"""The name under which `random_conv` opens."""


def random_conv(hidden: int = 64, layers: int = 4, seed: int = 0, *, context: int = 4096) -> MLXModel:
    """Return short convolutions and full attention in turn, with random float32 weights: answers mean nothing, caches hold what such a model's do.

    Its convolutions hand out their state as a view of the whole forward's input, as lfm2 of mlx-lm 0.32 does.

    Args:
        hidden: Width; a multiple of 4.
        layers: Layers; every second one is full attention.
        seed: Two models of one seed and size have equal weights.
        context: Tokens the model can hold.
    """
    from mlx_lm.models import lfm2

    blas.route()
    args = lfm2.ModelArgs(
        model_type="lfm2",
        vocab_size=256,
        hidden_size=hidden,
        num_hidden_layers=layers,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        norm_eps=1e-5,
        conv_bias=False,
        conv_L_cache=4,
        block_dim=hidden,
        block_ff_dim=2 * hidden,
        block_multiple_of=16,
        block_ffn_dim_multiplier=1.0,
        block_auto_adjust_ff_dim=False,
        full_attn_idxs=list(range(1, layers, 2)),
        rope_theta=10000.0,
    )
    origin = {"file": f"random lfm2, seed {seed}", "dtype": "float32", "device": precision.device()}

    def net() -> nn.Module:
        return _drawn_net(lfm2.Model(args), seed)

    return MLXModel(RANDOM_CONV, net(), ByteTokenizer(), context=context, origin=origin, again=net)


def _drawn_net(net: nn.Module, seed: int) -> nn.Module:
    """Draw a net's weights and evaluate them."""
    import mlx.core as mx
    from mlx.utils import tree_flatten

    named = [(name, array) for name, array in tree_flatten(net.parameters()) if isinstance(array, mx.array)]
    keys = mx.random.split(mx.random.key(seed), len(named))
    drawn = [(name, _drawn(array, key)) for (name, array), key in zip(named, keys, strict=True)]
    net.load_weights(drawn, strict=True)
    net.eval()
    mx.eval(net.parameters())
    return net


def _drawn(like: mx.array, key: mx.array) -> mx.array:
    """Return ones for a norm, else normal numbers that keep the size of what passes through."""
    import mlx.core as mx

    if like.ndim == 1:
        return mx.ones_like(like)
    return mx.random.normal(like.shape, key=key) * like.shape[-1] ** -0.5
