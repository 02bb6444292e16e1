"""Writes a SentencePiece tokenizer, as GGUF metadata describes it, in the form that the tokenizers library reads.

GGUF keeps each token's score; the library wants merges. A merge of two tokens is allowed where both halves and the whole are
tokens, and goes before another when the whole scores higher: the order in which SentencePiece itself merges.
"""

# pyright: standard
from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

CONTROL, USER, BYTE = 3, 4, 6
"""GGUF's token types of a control token, a token matched verbatim, and a single byte."""

SPACE = "\u2581"
"""How SentencePiece writes a space."""


def save(value: Callable[[str], Any], folder: Path) -> None:
    """Write tokenizer.json and tokenizer_config.json into `folder`; `value` looks up a key of the GGUF metadata."""
    from tokenizers import AddedToken, Tokenizer, decoders, normalizers, processors
    from tokenizers.models import BPE

    tokens: list[str] = value("tokenizer.ggml.tokens")
    kinds: list[int] = value("tokenizer.ggml.token_type")
    start, stop, unknown = (tokens[value(f"tokenizer.ggml.{which}_token_id")] for which in ("bos", "eos", "unknown"))
    vocabulary = {token: at for at, token in enumerate(tokens)}
    pairs = merges(tokens, value("tokenizer.ggml.scores"), kinds)
    tokenizer = Tokenizer(BPE(vocab=vocabulary, merges=pairs, unk_token=unknown, fuse_unk=True, byte_fallback=True))
    tokenizer.normalizer = normalizers.Replace(" ", SPACE)
    tokenizer.decoder = decoders.Sequence([decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{start} $A", special_tokens=[(start, vocabulary[start])])
    own = zip(tokens, kinds, strict=True)
    tokenizer.add_tokens([AddedToken(token, special=kind == CONTROL, normalized=False) for token, kind in own if kind in (CONTROL, USER)])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": start,
        "eos_token": stop,
        "unk_token": unknown,
        "pad_token": tokens[value("tokenizer.ggml.padding_token_id")],
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")


def merges(tokens: Sequence[str], scores: Sequence[float], kinds: Sequence[int]) -> list[tuple[str, str]]:
    """Return all pairs of tokens that make a token, best score of the whole first; ties by where the halves stand."""
    plain = {token: at for at, (token, kind) in enumerate(zip(tokens, kinds, strict=True)) if kind not in (CONTROL, USER, BYTE)}
    ranked: list[tuple[float, int, int, str, str]] = []
    for token, at in plain.items():
        for cut in range(1, len(token)):
            first, second = token[:cut], token[cut:]
            if first in plain and second in plain:
                ranked.append((-scores[at], plain[first], plain[second], first, second))
    ranked.sort()
    return [(first, second) for *_, first, second in ranked]
