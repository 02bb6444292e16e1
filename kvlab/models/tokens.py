"""Tokenizers as a model uses them: text or chat messages to token ids, and token ids back to text as they come.

Invariant: a decoder never emits half a character; what it has added up and `finish` together are the text of all its tokens.
"""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from kvlab.errors import BadValue

if TYPE_CHECKING:
    from kvlab.runner.model import Decoder

ROLES = ("system", "user", "assistant", "tool")
"""Who a chat message may be from."""

THINKING_TAIL = 11
"""Tokens at a prompt's end that mlx-lm's server searches for the start of the thinking (mlx-lm 0.32.2, `mlx_lm/server.py`)."""


class Tokenizer(Protocol):
    """Turns text into tokens and back.

    Attributes:
        vocabulary: Token ids run from 0 to here; 0 when unknown.
        stop_tokens: Tokens that end a reply.
    """

    vocabulary: int
    stop_tokens: frozenset[int]

    def encode(self, text: str) -> list[int]:
        """Return the token ids of plain text."""
        ...

    def chat(self, messages: Sequence[tuple[str, str]], *, reply: bool = True) -> list[int]:
        """Return the token ids of (role, content) messages, ready for the assistant's reply; up to the last message's end without `reply`."""
        ...

    def thinking_start(self, tokens: Sequence[int]) -> int | None:
        """Return the offset at which the end of a prompt begins the thinking; None when it does not."""
        ...

    def decoder(self) -> Decoder:
        """Return a new text decoder."""
        ...


class TableDecoder:
    """Decodes with a table of each token's bytes, holding back an incomplete UTF-8 character.

    Args:
        table: The bytes of every token.
    """

    __slots__ = ("_table", "_utf8")

    def __init__(self, table: Sequence[bytes]) -> None:
        self._table = table
        self._utf8 = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, token: int) -> str:
        """Return the text that `token` completes; "" while it completes none."""
        return self._utf8.decode(self._table[token] if 0 <= token < len(self._table) else b"")

    def finish(self) -> str:
        """Return the text still held back."""
        return self._utf8.decode(b"", final=True)


class StreamDecoder:
    """Decodes with mlx-lm's streaming detokenizer.

    Args:
        stream: A fresh `StreamingDetokenizer`.
    """

    __slots__ = ("_stream",)

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def add(self, token: int) -> str:
        """Return the text that `token` completes; "" while it completes none."""
        self._stream.add_token(token)
        return str(self._stream.last_segment)

    def finish(self) -> str:
        """Return the text still held back."""
        self._stream.finalize()
        return str(self._stream.last_segment)


class WrappedTokenizer:
    """A tokenizer of the transformers library in mlx-lm's `TokenizerWrapper`.

    Args:
        wrapper: What `mlx_lm.load` returns, or one built from a GGUF file's metadata.
        table: The bytes of every token, when known; decoding is then exact.
    """

    __slots__ = ("stop_tokens", "table", "vocabulary", "wrapper")

    def __init__(self, wrapper: Any, table: Sequence[bytes] | None = None) -> None:
        self.wrapper = wrapper
        self.table = table
        self.vocabulary = len(wrapper)
        self.stop_tokens = frozenset(int(token) for token in wrapper.eos_token_ids)

    def encode(self, text: str) -> list[int]:
        """Return the token ids of plain text, with the model's own start token unless the text already begins with it."""
        start = self.wrapper.bos_token
        return list(self.wrapper.encode(text, add_special_tokens=start is None or not text.startswith(start)))

    def chat(self, messages: Sequence[tuple[str, str]], *, reply: bool = True) -> list[int]:
        """Return the token ids of the messages through the model's chat template, ready for the assistant's reply unless `reply` is False.

        Raises:
            BadValue: the model has no chat template, or its template refuses the messages.
        """
        from jinja2 import TemplateError

        if not self.wrapper.has_chat_template:
            raise BadValue(
                what="this model does not accept chat messages",
                why="it has no chat template: it continues text and was not trained to chat",
                hint="give a plain prompt",
            )
        rendered = [{"role": role, "content": content} for role, content in messages]
        try:
            return list(self.wrapper.apply_chat_template(rendered, tokenize=True, add_generation_prompt=reply))
        except TemplateError as error:
            raise BadValue(
                what=f"the messages with roles {', '.join(role for role, _ in messages)} cannot be rendered",
                why=f"the model's chat template says: {error}",
                hint="change the order or the roles of the messages",
            ) from error

    def thinking_start(self, tokens: Sequence[int]) -> int | None:
        """Return where thinking begins among the last `THINKING_TAIL` tokens; None when it does not."""
        if not self.wrapper.has_thinking:
            return None
        found = self.wrapper.rfind_think_start(list(tokens), start=len(tokens) - THINKING_TAIL)
        return found if found >= 0 else None

    def decoder(self) -> Decoder:
        """Return a new text decoder."""
        return StreamDecoder(self.wrapper.detokenizer) if self.table is None else TableDecoder(self.table)


def message_ends(tokenizer: Tokenizer, messages: Sequence[tuple[str, str]], tokens: Sequence[int]) -> list[int]:
    """Return the offsets in the prompt `tokens` at which `messages` end, in order.

    A message ends where the chat up to it, rendered by itself, still agrees with the prompt. A template may render a beginning otherwise, or
    refuse it: such an end is where the two last agree, or none.
    """
    found: list[int] = []
    for count in range(1, len(messages) + 1):
        try:
            alone = tokenizer.chat(messages[:count], reply=False)
        except BadValue:
            continue
        end = _agreeing(alone, tokens)
        if end > (found[-1] if found else 0):
            found.append(end)
    return found


def _agreeing(first: Sequence[int], second: Sequence[int]) -> int:
    return next((at for at, (one, other) in enumerate(zip(first, second, strict=False)) if one != other), min(len(first), len(second)))
