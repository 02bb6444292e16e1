"""The rows of a case's workload as requests: what a prompt is made of, how it continues the one before it in its chat, and how large a case may be.

Invariants: what a row takes away from or keeps of the request before it is there; a prompt has at least one token. Named streams, fresh tokens
and words never share an id (streams.py). `generated_tokens` requests exactly that many tokens and leaves them to the model: the twin generates
fresh ones. `generated` gives the reply itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, NamedTuple, cast, get_args

from msgspec import Meta, Struct

from kvlab.errors import BadValue
from kvlab.typed_json import Amount, Count, Placed, Text
from kvlab.workloads.request import Follow, Request, Segment
from kvlab.workloads.streams import STREAM_TOKENS, Fresh, NamedStreams

Action = Literal["unload", "stop", "restart"]
ACTIONS: tuple[str, ...] = get_args(Action)
"""What a case can do instead of a request: unload the model by a call, by `ollama stop`, or by a restart of the server."""

MOST_REQUESTS = 1_000_000
"""Requests of a workload at most: some 80 times the longest public trace. Each takes about 1 KB as a Python object, so these take 1 GB."""

MOST_TOKENS = 2**26
"""Tokens that a case gives at most, prompts and replies together: as Python numbers they take about 2.5 GiB."""

UNSCALED = 64
"""Counts of tokens up to here are not scaled, and none is scaled below it: a short question stays one."""

Part = Annotated[int, Meta(ge=0, le=STREAM_TOKENS)]
Tokens = tuple[Annotated[int, Meta(ge=0, le=2**31 - 1)], ...]


class Row(Struct, frozen=True, forbid_unknown_fields=True):
    """A row that sends requests: its keys, as a case has them."""

    prefix_id: Text = ""
    prefix_tokens: Part = 0
    unique_tokens: Part = 0
    unique_id: Text = ""
    tokens: Tokens = ()
    generated_tokens: Part = 0
    generated: Tokens = ()
    think_seconds: Amount = 0.0
    repeat: Annotated[int, Meta(ge=1, le=MOST_REQUESTS)] = 1
    chat: Text = ""
    continues: Text = ""
    reply_rerendered_tokens: Part = 0
    drop_tail_tokens: Part = 0
    keep_reply_tokens: Part = 0
    cancel_after_tokens: Part = 0
    score: bool = False
    score_shared: Part = 0
    system_tokens: Count = 0


class ActionRow(Struct, frozen=True, forbid_unknown_fields=True):
    """A row that does something else."""

    action: Action
    settle_seconds: Amount = 0.0
    think_seconds: Amount = 0.0


_COUNTS = ("prefix_tokens", "unique_tokens", "generated_tokens")
_SCALED = ("score_shared", *(name for name in Row.__struct_fields__ if name.endswith("_tokens")))


def requests_of(where: str, rows: Sequence[object], scale: float = 1.0) -> tuple[Request, ...]:
    """Return the requests of a case's `workload` rows, with their counts of tokens times `scale`; `where` is what errors call the case.

    Raises:
        BadValue: a key is unknown or a value cannot be used.
    """
    placed = [_placed(f"{where}, workload[{place}]", row, scale) for place, row in enumerate(rows)]
    # all are counted before one is built: a million requests take seconds
    _require_room([row for row in placed if "action" not in row])
    requests = _Requests(checks=scale == 1)
    return tuple(requests.of(row) for row in placed for _ in range(getattr(row.values, "repeat", 1)))


def _placed(where: str, row: object, scale: float) -> Placed[Any]:
    if not isinstance(row, dict):
        return Placed(where, row, Row)
    data = cast("dict[str, Any]", row)
    if "action" in data:
        return Placed(where, data, ActionRow)
    # what is no count is left for the check that names it
    long = {name: data[name] for name in _SCALED if type(data.get(name)) is int and data[name] > UNSCALED} if scale != 1 else {}
    return Placed(where, data | {name: max(UNSCALED, round(count * scale)) for name, count in long.items()}, Row)


def _require_room(rows: Sequence[Placed[Row]]) -> None:
    requests, tokens = MOST_REQUESTS, MOST_TOKENS
    for row in rows:
        times = row.values.repeat
        if times > requests:
            raise row.bad("repeat", f"a case has at most {MOST_REQUESTS:,} requests, {requests:,} of them from here on", "use fewer")
        counts: dict[str, int] = {name: getattr(row.values, name) for name in _COUNTS}
        taken = times * sum(counts.values())
        if taken > tokens:
            why = f"with {times:,} requests of the row this makes {taken:,} tokens; a case has at most {MOST_TOKENS:,}, {tokens:,} of them from here on"
            raise row.bad(max(counts, key=lambda name: counts[name]), why, "use fewer or shorter requests")
        requests, tokens = requests - times, tokens - taken


class _Turn(NamedTuple):
    """The last request of a chat: tokens of its prompt and of its reply, and how its replies come back."""

    prompt: int
    reply: int
    rerendered: int | None


class _Requests:
    """Makes the requests of rows, in order, with one set of streams and chats for all of them.

    Args:
        checks: Lengths are checked. Those of a scaled case are not: a short part stays as long as it was.
    """

    def __init__(self, *, checks: bool) -> None:
        self._checks = checks
        self._streams = NamedStreams()
        self._fresh = Fresh()
        self._last: dict[str, _Turn] = {}

    def of(self, row: Placed[Any]) -> Request:
        """Return the next request of `row`."""
        given = row.values
        if isinstance(given, ActionRow):
            return Request(label=given.action, action=given.action, max_new=0, think_s=given.think_seconds + given.settle_seconds)
        chat, follow = given.continues or given.chat, self._follow(row)
        own = self._own_tokens(row)
        if "generated" in row and "generated_tokens" in row:
            raise row.bad("generated_tokens", "a reply is given either by its tokens or by their number")
        reply = len(given.generated) or given.generated_tokens
        self._take(row, chat, follow, len(own), reply)
        _require_score(row, reply)
        return Request(
            label=chat or given.prefix_id or ("tokens" if "tokens" in row else "unique"),
            tokens=own,
            max_new=reply,
            generated=given.generated if "generated" in row else None,
            ignore_stop=True,
            cancel_after=given.cancel_after_tokens if "cancel_after_tokens" in row else None,
            chat=chat,
            follow=follow,
            think_s=given.think_seconds,
            segments=_segments(row, chat, len(own)),
            score=given.score,
            score_shared=given.score_shared,
        )

    def _own_tokens(self, row: Placed[Row]) -> tuple[int, ...]:
        given = row.values
        if "tokens" in row:
            if others := [name for name in ("prefix_id", "prefix_tokens", "unique_tokens", "unique_id") if name in row]:
                raise row.bad(others[0], "a prompt is given either by tokens or by prefix and unique parts")
            return given.tokens
        if ("prefix_id" in row) != ("prefix_tokens" in row):
            raise row.bad("prefix_tokens" if "prefix_tokens" in row else "prefix_id", "prefix_id and prefix_tokens come together")
        prefix = self._streams.first(f"prefix {given.prefix_id}", given.prefix_tokens) if given.prefix_tokens else ()
        if "unique_id" in row:
            return prefix + self._streams.first(f"unique {given.unique_id}", given.unique_tokens)
        return prefix + self._fresh.take(given.unique_tokens)

    def _follow(self, row: Placed[Row]) -> Follow | None:
        """Return how a row continues the last request of its chat; None when it begins."""
        given = row.values
        if "continues" not in row:
            _require_begun(row)
            return None
        for name in ("chat", "reply_rerendered_tokens"):
            if name in row:
                raise row.bad(name, "it belongs to a chat's first request, which has no `continues`")
        last = self._last.get(given.continues)
        if last is None:
            raise row.bad("continues", f"no request before it has that chat; there are: {', '.join(self._last) or 'none'}")
        if self._checks:
            for name, part, count in (("drop_tail_tokens", "prompt", last.prompt), ("keep_reply_tokens", "reply", last.reply)):
                if getattr(given, name) > count:
                    raise row.bad(name, f"the {part} before it has {count:,} tokens")
            if given.keep_reply_tokens and not given.drop_tail_tokens:
                why = "it needs drop_tail_tokens: a reply is kept in part only where the prompt's end is rendered differently"
                raise row.bad("keep_reply_tokens", why)
        return Follow(given.drop_tail_tokens, given.keep_reply_tokens, last.rerendered)

    def _take(self, row: Placed[Row], chat: str, follow: Follow | None, own: int, reply: int) -> None:
        """Record a request of `own` tokens after what it continues, and a reply of `reply` tokens."""
        prompt = own + (_before(follow, self._last[chat]) if follow else 0)
        if not prompt:
            raise BadValue(
                what=f"{row.where}: the prompt is empty",
                why="a request needs at least one token",
                hint="give tokens, unique_tokens, or prefix_id with prefix_tokens",
            )
        if self._checks and row.values.cancel_after_tokens > prompt:
            raise row.bad("cancel_after_tokens", f"the prompt has {prompt:,} tokens: its prefill cannot be cancelled after more")
        if chat:
            given = row.values.reply_rerendered_tokens if "reply_rerendered_tokens" in row else None
            self._last[chat] = _Turn(prompt, reply, follow.rerendered if follow else given)


def _require_begun(row: Placed[Row]) -> None:
    for name in ("drop_tail_tokens", "keep_reply_tokens"):
        if name in row:
            raise row.bad(name, "only a request with `continues` has a prompt and a reply before it")
    if "reply_rerendered_tokens" in row and not row.values.chat:
        raise row.bad("reply_rerendered_tokens", "it belongs to the first request of a `chat`")


def _before(follow: Follow, last: _Turn) -> int:
    """Return the tokens that a request continues; `Conversations` makes them."""
    if follow.drop_tail:
        return max(0, last.prompt - follow.drop_tail) + min(follow.keep_reply, last.reply)
    return last.prompt + (last.reply if follow.rerendered is None else follow.rerendered)


def _require_score(row: Placed[Row], reply: int) -> None:
    if row.values.score and reply:
        raise row.bad("score", f"a prompt that is scored has no reply, and one of {reply:,} tokens is given")
    if not row.values.score and row.values.score_shared:
        raise row.bad("score_shared", "it belongs to a request with score")


def _segments(row: Placed[Row], chat: str, own: int) -> tuple[Segment, ...]:
    """Return the segments of a row's own part: what is the system's, if the row says so, and the user's; none of a plain prompt."""
    if "system_tokens" not in row:
        return (Segment("user", own),) if chat else ()
    if "continues" in row:
        raise row.bad("system_tokens", "the request before it has them already")
    if not 0 < row.values.system_tokens < own:
        raise row.bad("system_tokens", f"they are part of the prompt's {own:,} tokens")
    return Segment("system", row.values.system_tokens), Segment("user", own)
