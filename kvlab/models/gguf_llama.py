"""Reads a llama-architecture GGUF file into an mlx-lm net.

Invariants: weights are named as mlx-lm names them; query and key rows are in mlx-lm's order (GGUF stores them interleaved
for its own rotary embedding); a weight's bit width is read off its shapes, so mixed widths load.
"""

# pyright: standard
from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvlab.errors import UnreadableInput
from kvlab.models import precision

if TYPE_CHECKING:
    from pathlib import Path

    import mlx.core as mx
    from mlx import nn

GROUP = 32
"""Weights that share one scale in every GGUF type that MLX reads."""

BLOCK_NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
"""A block's tensors: GGUF's name, mlx-lm's name."""


@dataclass(frozen=True, slots=True)
class Gguf:
    """What a GGUF file holds: the net with its weights evaluated, the metadata as plain Python values, the tokens it can hold."""

    net: nn.Module
    metadata: dict[str, Any]
    context: int


def load(path: Path, dtype: str) -> Gguf:
    """Read the file at `path` with weights as `dtype` (a name of `precision.DTYPES`).

    Raises:
        UnreadableInput: the file is damaged, or of another architecture than llama.
    """
    import mlx.core as mx
    from mlx_lm.models import llama

    arrays, metadata = _read(path)
    args = llama.ModelArgs(**_arguments(metadata))
    net = llama.Model(args)
    weights = _renamed(arrays, args.num_attention_heads, args.num_key_value_heads or args.num_attention_heads)
    del arrays
    target = precision.activations(dtype)
    if dtype == "stored":
        _quantise_like(net, weights)
        loaded = {name: value if value.dtype == mx.uint32 else value.astype(target) for name, value in weights.items()}
    else:
        loaded = {name: _plain(name, weights, target) for name in weights if not name.endswith((".scales", ".biases"))}
    weights.clear()
    net.load_weights(list(loaded.items()), strict=True)
    net.eval()
    mx.eval(net.parameters())
    return Gguf(net=net, metadata=metadata, context=int(metadata["llama.context_length"]))


def _read(path: Path) -> tuple[dict[str, mx.array], dict[str, Any]]:
    import mlx.core as mx

    try:
        loaded: Any = mx.load(str(path), format="gguf", return_metadata=True)
    except (RuntimeError, ValueError, OSError) as error:
        raise UnreadableInput(
            what=f"{path} cannot be read as a GGUF file",
            why=str(error),
            hint="remove the file and run it again",
        ) from error
    arrays, metadata = loaded
    plain = {name: value.tolist() if isinstance(value, mx.array) else value for name, value in metadata.items()}
    if plain.get("general.architecture") != "llama":
        raise UnreadableInput(
            what=f"{path} holds a model of architecture {plain.get('general.architecture')!r}",
            why="only the llama architecture is read from GGUF here",
            hint="give a folder or id that mlx-lm reads",
        )
    return arrays, plain


def _arguments(metadata: dict[str, Any]) -> dict[str, Any]:
    def at(key: str) -> Any:
        return metadata[f"llama.{key}"]

    return {
        "model_type": "llama",
        "hidden_size": at("embedding_length"),
        "num_hidden_layers": at("block_count"),
        "intermediate_size": at("feed_forward_length"),
        "num_attention_heads": at("attention.head_count"),
        "num_key_value_heads": at("attention.head_count_kv"),
        "rms_norm_eps": at("attention.layer_norm_rms_epsilon"),
        "vocab_size": at("vocab_size"),
        "rope_theta": at("rope.freq_base"),
        "max_position_embeddings": at("context_length"),
        "tie_word_embeddings": True,
    }


def _renamed(arrays: dict[str, mx.array], heads: int, kv_heads: int) -> dict[str, mx.array]:
    weights: dict[str, mx.array] = {}
    for name, value in arrays.items():
        base, part = name.rsplit(".", 1)
        if base == "token_embd":
            weights[f"model.embed_tokens.{part}"] = value
        elif base == "output_norm":
            weights[f"model.norm.{part}"] = value
        else:
            _, layer, tensor = base.split(".")
            interleaved = {"attn_q": heads, "attn_k": kv_heads}.get(tensor)
            weights[f"model.layers.{layer}.{BLOCK_NAMES[tensor]}.{part}"] = value if interleaved is None else _halves(value, interleaved)
    return weights


def _halves(rows: mx.array, heads: int) -> mx.array:
    """Return `rows` (heads x head size, ...) with each head's interleaved pairs put back into two halves."""
    size = rows.shape[0] // heads
    return rows.reshape(heads, size // 2, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def _bits(weights: dict[str, mx.array], module: str) -> int:
    return weights[f"{module}.weight"].shape[-1] * 32 // (weights[f"{module}.scales"].shape[-1] * GROUP)


def _quantise_like(net: nn.Module, weights: dict[str, mx.array]) -> None:
    from mlx import nn

    def how(module: str, _: nn.Module) -> bool | dict[str, int]:
        return {"group_size": GROUP, "bits": _bits(weights, module)} if f"{module}.scales" in weights else False

    nn.quantize(net, group_size=GROUP, class_predicate=how)


def _plain(name: str, weights: dict[str, mx.array], target: mx.Dtype) -> mx.array:
    import mlx.core as mx

    value = weights[name]
    if value.dtype == mx.uint32:
        module = name.removesuffix(".weight")
        scales, biases = (weights[f"{module}.{part}"].astype(mx.float32) for part in ("scales", "biases"))
        value = mx.dequantize(value, scales, biases, group_size=GROUP, bits=_bits(weights, module))
    value = value.astype(target)
    mx.eval(value)
    return value
