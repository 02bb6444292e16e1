"""Request: a prompt and how to answer it, as plain data, before any token is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

from kvlab.errors import BadValue, require_type, shown
from kvlab.visible_text import storable


@dataclass(frozen=True, slots=True)
class Sampling:
    """How the next token is chosen. Temperature 0 is greedy; the rest is as in mlx-lm's samplers.

    Example:
        >>> import kvlab
        >>> kvlab.Request(prompt="Why?", sampling=kvlab.workloads.Sampling(temperature=0.7, seed=1)).sampling.seed
        1
    """

    temperature: float = 0.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None

    def check(self) -> None:
        """Raise BadValue when a figure is outside its range."""
        ranges = (
            ("temperature", self.temperature, self.temperature >= 0, "at least 0 (0 is greedy)"),
            ("top_p", self.top_p, 0 < self.top_p <= 1, "above 0 and at most 1 (1 keeps all)"),
            ("top_k", self.top_k, self.top_k >= 0, "at least 0 (0 keeps all)"),
            ("min_p", self.min_p, 0 <= self.min_p <= 1, "from 0 (keeps all) to 1"),
        )
        for name, value, inside, allowed in ranges:
            if not inside:
                raise BadValue(what=f"a sampling's {name} is {value}", why=f"it must be {allowed}", hint=f"correct {name}")


GREEDY = Sampling()

MOST_NEW = 2**31 - 1
"""Tokens of a reply at most."""


@dataclass(frozen=True, slots=True)
class Follow:
    """How a request continues the last one of its conversation: previous prompt + reply + its own part.

    Attributes:
        drop_tail: The last n tokens of the previous prompt are rendered differently, so the reply is not reused.
        keep_reply: Of a reply not reused, the first n tokens that still are.
        rerendered: The reply comes back as n other tokens; None when it comes back as it was.

    Example:
        >>> import kvlab
        >>> first = kvlab.Request(tokens=(1, 2, 3), max_new=2, chat="a")
        >>> second = kvlab.Request(tokens=(4,), max_new=2, chat="a", follow=kvlab.workloads.Follow())
        >>> kvlab.twin("smollm2").run([first, second], progress=False).requests["tokens"].to_list()
        [3, 6]
    """

    drop_tail: int = 0
    keep_reply: int = 0
    rerendered: int | None = None


@dataclass(frozen=True, slots=True)
class MediaItem:
    """An image or a sound in a prompt: positions [start, end) of its tokens.

    Attributes:
        start: Its first position.
        end: The position after its last.
        fold: The key of its contents: 32 bits with the top bit set (`media_fold`).
        whole: It attends in both directions, so it is evaluated in one forward.
    """

    start: int
    end: int
    fold: int
    whole: bool = True

    def cuts(self, offset: int) -> bool:
        """Whether a cut at `offset` would part a whole item."""
        return self.whole and self.start < offset < self.end


class Segment(NamedTuple):
    """A part of a prompt that a store of whole entries may keep by itself: its kind (system, user or assistant) and the offset at which it ends."""

    kind: str
    end: int


@dataclass(frozen=True, slots=True)
class Request:
    """One request. Exactly one of `messages`, `prompt` and `tokens` is given.

    Attributes:
        label: A short name shown in tables; never the prompt.
        messages: Chat messages as (role, content), rendered with the model's chat template.
        prompt: Plain text, tokenised as it is.
        tokens: Explicit token ids; with `follow`, only this request's own part.
        max_new: New tokens at most; 0 for no reply.
        generated: A reply that is given instead of sampled, emitted exactly; None to sample.
        ignore_stop: Stop tokens do not end the reply.
        cancel_after: The prefill is cancelled at this token position, at the latest where it ends: before the prompt's last token. A chunk ends there.
        chat: The conversation this request belongs to; "" for none.
        follow: How it continues the conversation's last request; None when it starts one.
        think_s: Seconds the user waits before sending it; a run does not wait.
        action: Something done instead of a request, such as `unload`; "" for a request.
        sampling: How tokens are chosen.
        media: Items among the prompt's tokens, in order.
        ends: Offsets in `tokens` at which chat messages end, in order; those of `messages` are found by the model.
        segments: The prompt's segments, in order, if `tokens` is a chat's prompt; those of `messages` are found by the model.
        marks: Words that its answer must hold, and no other request's; none when answers are not distinguished.
        score: All of its tokens are evaluated and nothing is generated, whatever `max_new` is: the model's last hidden state is what is wanted.
            It can be restored in full; requests that score have a cache of their own upstream (`score.go`, main).
        score_shared: Tokens that it shares with those scored together with it: a capture is taken there; 0 for none.

    Example:
        >>> import kvlab
        >>> kvlab.Request(prompt="Why is the sky blue?", label="sky", max_new=8).size_words
        'sky: 20 letters, at most 8 new tokens'
    """

    label: str = ""
    messages: tuple[tuple[str, str], ...] = ()
    prompt: str = ""
    tokens: Sequence[int] = ()
    max_new: int = 32
    generated: tuple[int, ...] | None = None
    ignore_stop: bool = False
    cancel_after: int | None = None
    chat: str = ""
    follow: Follow | None = None
    think_s: float = 0.0
    action: str = ""
    sampling: Sampling = GREEDY
    media: tuple[MediaItem, ...] = ()
    ends: tuple[int, ...] = ()
    segments: tuple[Segment, ...] = ()
    marks: tuple[str, ...] = ()
    score: bool = False
    score_shared: int = 0

    def __post_init__(self) -> None:
        for name in ("label", "prompt"):
            value = getattr(self, name)
            require_type(name, value, str, "text")
            if not value.isascii():
                # half of a surrogate pair, as an argument or JSON may hold it, is in no encoding
                object.__setattr__(self, name, storable(value))
        if self.messages:
            _require_messages(self.messages)
            if not all(role.isascii() and content.isascii() for role, content in self.messages):
                object.__setattr__(self, "messages", tuple((storable(role), storable(content)) for role, content in self.messages))
        require_type("max_new", self.max_new, int, "a whole number")
        if not 0 <= self.max_new <= MOST_NEW:
            raise BadValue(what=f"max_new is {self.max_new}", why=f"a reply has 0 to {MOST_NEW:,} tokens", hint="give max_new as 0 or more")
        if self.score and self.generated:
            raise BadValue(
                what=f"a request that is scored has a reply of {len(self.generated)} tokens",
                why="scoring generates nothing",
                hint="leave the reply or score out",
            )
        if self.score_shared < 0 or (self.score_shared and not self.score):
            raise BadValue(
                what=f"a request's score_shared is {self.score_shared:,}{'' if self.score else ', and it is not scored'}",
                why="prompts that are scored together share at least 0 tokens",
                hint="give score_shared as 0 or more, together with score",
            )

    @property
    def text(self) -> str:
        """The prompt as text: plain, or its messages; "" when it is token ids."""
        return self.prompt or "\n".join(f"{role}: {content}" for role, content in self.messages)

    @property
    def size_words(self) -> str:
        """Its label and its size in words, such as `question 1: 42 letters, at most 32 new tokens`; nothing of its prompt."""
        size = f"{len(self.tokens):,} tokens" if len(self.tokens) else f"{len(self.text):,} letters"
        cut = "" if self.cancel_after is None else f", cancelled after {self.cancel_after:,} tokens"
        return f"{self.label + ': ' if self.label else ''}{size}, at most {self.limit:,} new token{'' if self.limit == 1 else 's'}{cut}"

    @property
    def limit(self) -> int:
        """New tokens at most: `max_new`, or as many as the given reply has; 0 of a prompt that is scored."""
        if self.score:
            return 0
        return self.max_new if self.generated is None else len(self.generated)


def _require_messages(messages: object) -> None:
    listed = cast("Sequence[object]", messages) if isinstance(messages, list | tuple) else ()
    pairs = [cast("Sequence[object]", one) for one in listed if isinstance(one, list | tuple)]
    if len(pairs) < max(1, len(listed)) or not all([type(part) for part in pair] == [str, str] for pair in pairs):
        raise BadValue(
            what=f"messages is {shown(cast('object', messages))}",
            why="each message is a role and a content, both text",
            hint='write for example messages=(("user", "Why?"),)',
        )
