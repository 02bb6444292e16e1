"""The chats of a case as its rows are read: how a request continues the one before it, and how long prompts become.

Invariant: what a row takes away from or keeps of the request before it is there; a prompt has at least one token.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvlab.errors import BadValue
from kvlab.workloads.case_fields import Fields
from kvlab.workloads.request import Follow


@dataclass(frozen=True, slots=True)
class _Turn:
    """The last request of a chat: tokens of its prompt and of its reply, and how its replies come back."""

    prompt: int
    reply: int
    rerendered: int | None


class Chats:
    """The chats that a case's rows have named so far.

    Args:
        checks: Lengths are checked. Those of a scaled case are not: a short part stays as long as it was.
    """

    def __init__(self, *, checks: bool) -> None:
        self._checks = checks
        self._last: dict[str, _Turn] = {}

    def place(self, fields: Fields) -> tuple[str, Follow | None]:
        """Return the chat that a row belongs to ("" for none), and how it continues the request before it; None when it begins.

        Raises:
            BadValue: a key does not belong to a row of this kind, or the chat has no request yet.
        """
        if "continues" not in fields:
            return self._begun(fields), None
        if "chat" in fields or "reply_rerendered_tokens" in fields:
            raise fields.bad("chat" if "chat" in fields else "reply_rerendered_tokens", "it belongs to a chat's first request, which has no `continues`")
        chat = fields.text("continues")
        if chat not in self._last:
            raise fields.bad("continues", f"no request before it has that chat; there are: {', '.join(self._last) or 'none'}")
        follow = Follow(fields.count("drop_tail_tokens"), fields.count("keep_reply_tokens"), self._last[chat].rerendered)
        if self._checks:
            _require_there(fields, follow, self._last[chat])
        return chat, follow

    def noted(self, fields: Fields, chat: str, follow: Follow | None, own: int, reply: int) -> None:
        """Record a request of `own` tokens after what it continues, and a reply of `reply` tokens.

        Raises:
            BadValue: its prompt is empty, or it is cancelled past the prompt's end.
        """
        prompt = own + (_before(follow, self._last[chat]) if follow else 0)
        if not prompt:
            raise BadValue(
                what=f"{fields.where}: the prompt is empty",
                why="a request needs at least one token",
                hint="give tokens, unique_tokens, or prefix_id with prefix_tokens",
            )
        if self._checks and fields.count("cancel_after_tokens") > prompt:
            raise fields.bad("cancel_after_tokens", f"the prompt has {prompt:,} tokens: its prefill cannot be cancelled after more")
        if chat:
            rerendered = self._last[chat].rerendered if follow else fields.data.get("reply_rerendered_tokens")
            self._last[chat] = _Turn(prompt, reply, rerendered)

    def _begun(self, fields: Fields) -> str:
        for name in ("drop_tail_tokens", "keep_reply_tokens"):
            if name in fields:
                raise fields.bad(name, "only a request with `continues` has a prompt and a reply before it")
        chat = fields.text("chat")
        if "reply_rerendered_tokens" in fields:
            fields.count("reply_rerendered_tokens")
            if not chat:
                raise fields.bad("reply_rerendered_tokens", "it belongs to the first request of a `chat`")
        return chat


def _require_there(fields: Fields, follow: Follow, last: _Turn) -> None:
    if follow.drop_tail > last.prompt:
        raise fields.bad("drop_tail_tokens", f"the prompt before it has {last.prompt:,} tokens")
    if follow.keep_reply > last.reply:
        raise fields.bad("keep_reply_tokens", f"the reply before it has {last.reply:,} tokens")
    if follow.keep_reply and not follow.drop_tail:
        raise fields.bad("keep_reply_tokens", "it needs drop_tail_tokens: a reply is kept in part only where the prompt's end is rendered differently")


def _before(follow: Follow, last: _Turn) -> int:
    """Return the tokens that a request continues; `Conversations` makes them."""
    if follow.drop_tail:
        return max(0, last.prompt - follow.drop_tail) + min(follow.keep_reply, last.reply)
    return last.prompt + (last.reply if follow.rerendered is None else follow.rerendered)
