"""Builds a tokenizer and its chat template from a GGUF file's metadata.

One family is known: byte-level BPE with merges (`gpt2`), split as SmolLM2 splits text (`smollm`).
"""

# pyright: standard
from __future__ import annotations

from typing import Any

from kvlab.errors import UnreadableInput
from kvlab.models.tokens import WrappedTokenizer

CONTROL = 3
"""GGUF's token type of a control token."""


def build(metadata: dict[str, Any]) -> WrappedTokenizer:
    """Return the tokenizer that `metadata` (plain Python values) describes.

    Raises:
        UnreadableInput: the metadata describes a tokenizer of another family.
    """
    family, split = metadata.get("tokenizer.ggml.model"), metadata.get("tokenizer.ggml.pre", "")
    if family == "gpt2" and split == "smollm":
        return _wrap(_byte_level(metadata), metadata, _byte_level_table(metadata))
    raise UnreadableInput(
        what=f"the file's tokenizer is {family!r} with {split!r} splitting",
        why="only smollm's byte-level BPE is built from GGUF metadata here",
        hint="give a folder or id with a tokenizer.json that mlx-lm reads",
    )


def _byte_level(metadata: dict[str, Any]) -> Any:
    from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
    from tokenizers.models import BPE

    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    merges = [(first, second) for first, _, second in (merge.partition(" ") for merge in metadata["tokenizer.ggml.merges"])]
    tokenizer = Tokenizer(BPE(vocab={token: at for at, token in enumerate(tokens)}, merges=merges))
    digits = pre_tokenizers.Digits(individual_digits=True)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)])
    tokenizer.decoder = decoders.ByteLevel()
    control = [token for token, kind in zip(tokens, metadata["tokenizer.ggml.token_type"], strict=True) if kind == CONTROL]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in control])
    return tokenizer


def _byte_level_table(metadata: dict[str, Any]) -> list[bytes]:
    values = _byte_values()
    kinds: list[int] = metadata["tokenizer.ggml.token_type"]
    tokens: list[str] = metadata["tokenizer.ggml.tokens"]
    return [token.encode() if kind == CONTROL else bytes(values[character] for character in token) for token, kind in zip(tokens, kinds, strict=True)]


def _byte_values() -> dict[str, int]:
    """Return the byte that each character of a byte-level token represents: printable Latin-1 itself, the others from U+0100 on."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    values = {chr(byte): byte for byte in printable}
    others = (byte for byte in range(256) if byte not in set(printable))
    return values | {chr(0x100 + place): byte for place, byte in enumerate(others)}


def _wrap(tokenizer: Any, metadata: dict[str, Any], table: list[bytes]) -> WrappedTokenizer:
    from mlx_lm.tokenizer_utils import BPEStreamingDetokenizer, TokenizerWrapper
    from transformers import PreTrainedTokenizerFast

    tokens: list[str] = metadata["tokenizer.ggml.tokens"]

    def named(which: str) -> str | None:
        at = metadata.get(f"tokenizer.ggml.{which}_token_id")
        return None if at is None else tokens[at]

    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=named("bos"),
        eos_token=named("eos"),
        pad_token=named("padding"),
        unk_token=named("unknown"),
        clean_up_tokenization_spaces=False,
    )
    fast.chat_template = metadata.get("tokenizer.chat_template")
    stop = [metadata["tokenizer.ggml.eos_token_id"]]
    # mlx-lm annotates the parameter with its default's class
    detokenizer: Any = BPEStreamingDetokenizer
    return WrappedTokenizer(TokenizerWrapper(fast, detokenizer, eos_token_ids=stop), table)
