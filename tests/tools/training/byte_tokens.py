"""The tiny models' tokens: one a byte, and one more that ends a reply or a chapter; and the tokenizer files that say so to mlx-lm.

Invariant: `chat` here and the chat template in the tokenizer's files give the same tokens.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

END = 256
"""Ends a reply of the assistant, and a chapter."""

END_NAME = "<end>"
VOCABULARY = 257

TEMPLATE = (
    "{% for message in messages %}"
    "{{ message.role | capitalize }}: {{ message.content }}{% if message.role == 'assistant' %}" + END_NAME + "{% endif %}{{ '\\n' }}"
    "{% endfor %}"
    "{% if add_generation_prompt %}Assistant: {% endif %}"
)


def prose(chapters: Sequence[str]) -> list[int]:
    """Return the chapters' bytes, each chapter with the end token after it."""
    tokens: list[int] = []
    for chapter in chapters:
        tokens += chapter.encode()
        tokens.append(END)
    return tokens


def chat(messages: Sequence[tuple[str, str]]) -> list[int]:
    """Return the tokens of (role, content) messages: `Role: content` lines, the end token after what the assistant says."""
    tokens: list[int] = []
    for role, content in messages:
        tokens += f"{role.capitalize()}: {content}".encode()
        if role == "assistant":
            tokens.append(END)
        tokens += b"\n"
    return tokens


def write_files(folder: Path, context: int) -> None:
    """Write tokenizer.json and tokenizer_config.json into `folder`; `context` is how many tokens the model can hold."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    tokenizer: Any = Tokenizer(models.BPE(vocab={letter: byte for byte, letter in enumerate(_letters())}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([END_NAME])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END_NAME,
        "clean_up_tokenization_spaces": False,
        "model_max_length": context,
        "chat_template": TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n")


def _letters() -> list[str]:
    """Return the character that stands for each byte in a byte-level tokenizer: printable Latin-1 itself, the others from U+0100 on."""
    printable = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = iter(range(0x100, 0x200))
    return [chr(byte) if byte in printable else chr(next(others)) for byte in range(256)]
