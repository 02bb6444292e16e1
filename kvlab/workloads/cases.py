"""Cases: small workloads with a known outcome, one JSON file each. `case(path)` reads one whole or says what is wrong where.

Invariants: a key that is not known is an error that names it. Named streams, fresh tokens and words never share an id
(streams.py). `generated_tokens` requests exactly that many tokens and leaves them to the model: the twin generates fresh ones.
In token cases `generated` gives the reply itself.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

from kvlab.errors import BadValue, UnreadableInput
from kvlab.policy import Policy
from kvlab.workloads.bounds import Room
from kvlab.workloads.case_chats import Chats
from kvlab.workloads.case_expected import expected_of
from kvlab.workloads.case_fields import Fields
from kvlab.workloads.case_layers import shape_of
from kvlab.workloads.request import Request, Segment
from kvlab.workloads.streams import Fresh, NamedStreams
from kvlab.workloads.workload import Workload

ACTIONS = ("unload", "stop", "restart")
"""What a case can do instead of a request: unload the model by a call, by `ollama stop`, or by a restart of the server."""

_CASE_KEYS = ("id", "question", "inspired_by", "fault", "note", "layers", "look_ahead", "units", "policy", "workload", "expected")
_PART_KEYS = ("prefix_id", "prefix_tokens", "unique_tokens", "unique_id", "tokens")
_REQUEST_KEYS = (
    *_PART_KEYS,
    "generated_tokens",
    "generated",
    "think_seconds",
    "repeat",
    "chat",
    "continues",
    "reply_rerendered_tokens",
    "drop_tail_tokens",
    "keep_reply_tokens",
    "cancel_after_tokens",
    "score",
    "score_shared",
    "system_tokens",
)
_ACTION_KEYS = ("action", "settle_seconds", "think_seconds")


UNSCALED = 64
"""Counts of tokens up to here are not scaled, and none is scaled below it: a short question stays one."""

_SCALED = (
    *("prefix_tokens", "unique_tokens", "generated_tokens", "reply_rerendered_tokens", "cancel_after_tokens", "score_shared", "system_tokens"),
    *("drop_tail_tokens", "keep_reply_tokens"),
)


def requests_of(name: str, rows: list[dict[str, Any]], scale: float = 1.0) -> tuple[Request, ...]:
    """Return the requests of a case's `workload` rows, with their counts of tokens times `scale`.

    Raises:
        BadValue: a key is unknown or a value cannot be used.
    """
    return _Requests(Fields(name, {"workload": rows}, ("workload",)), scale).all()


def case(path: str | Path, scale: float = 1.0) -> Workload:
    """Read a case file; its counts of tokens are taken times `scale`.

    Raises:
        UnreadableInput: the file is not there or is not JSON.
        BadValue: a key is unknown or a value cannot be used; the error names the file, the key and the value.

    Example:
        >>> import json, kvlab
        >>> from pathlib import Path
        >>> _ = Path("mine.json").write_text(json.dumps({"layers": ["kv"], "workload": [{"tokens": [1, 2, 3], "repeat": 2}]}))
        >>> len(kvlab.workloads.case("mine.json"))
        2
    """
    path = Path(path)
    fields = Fields(str(path), _read(path), _CASE_KEYS)
    name = fields.text("id", path.stem)
    policy = fields.table("policy")
    try:
        Policy.from_dict(policy)
    except BadValue as error:
        raise BadValue(what=f"{path}, policy: {error.what}", why=error.why, hint=error.hint) from None
    return Workload(
        name=name,
        requests=_Requests(fields, scale).all(),
        policy=policy,
        shape=shape_of(fields, name) if "layers" in fields else None,
        question=fields.text("question"),
        expected=expected_of(fields),
    )


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise UnreadableInput(
            what=f"the case {path} cannot be read",
            why=error.strerror or str(error),
            hint="check the path; named workloads such as unrelated:15 need no file",
        ) from None
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(what=f"the case {path} is not JSON", why=str(error), hint="correct the file at that place") from None


class _Requests:
    """Turns a case's `workload` into requests, with one set of streams for all of them."""

    def __init__(self, fields: Fields, scale: float = 1.0) -> None:
        self._fields = fields
        self._scale = scale
        self._streams = NamedStreams()
        self._fresh = Fresh()
        self._room = Room()
        self._chats = Chats(checks=scale == 1)

    def all(self) -> tuple[Request, ...]:
        rows = self._fields.data.get("workload")
        if "workload" not in self._fields:
            raise self._fields.missing("workload", "a case is a list of at least one request")
        if not isinstance(rows, list) or not rows:
            raise self._fields.bad("workload", "it is a list of at least one request")
        fields = [self._of_row(place, row) for place, row in enumerate(cast("list[object]", rows))]
        # all are counted before one is built: a million requests take seconds
        times = [1 if "action" in row else self._room.take(row) for row in fields]
        return tuple(_action(row) if "action" in row else self._request(row) for row, count in zip(fields, times, strict=True) for _ in range(count))

    def _of_row(self, place: int, row: object) -> Fields:
        is_action = isinstance(row, dict) and "action" in row
        return Fields(f"{self._fields.where}, workload[{place}]", self._scaled(cast("object", row)), _ACTION_KEYS if is_action else _REQUEST_KEYS)

    def _scaled(self, row: object) -> object:
        if self._scale == 1 or not isinstance(row, dict):
            return row
        counts = cast("dict[str, Any]", row)
        return counts | {name: _scaled(counts[name], self._scale) for name in _SCALED if name in counts}

    def _request(self, fields: Fields) -> Request:
        chat, follow = self._chats.place(fields)
        own = self._own_tokens(fields)
        if "generated" in fields and "generated_tokens" in fields:
            raise fields.bad("generated_tokens", "a reply is given either by its tokens or by their number")
        generated = fields.tokens("generated") if "generated" in fields else None
        reply = fields.count("generated_tokens") if generated is None else len(generated)
        self._chats.noted(fields, chat, follow, len(own), reply)
        return Request(
            label=chat or fields.text("prefix_id", "tokens" if "tokens" in fields else "unique"),
            tokens=own,
            max_new=reply,
            generated=generated,
            ignore_stop=True,
            cancel_after=fields.count("cancel_after_tokens") if "cancel_after_tokens" in fields else None,
            chat=chat,
            follow=follow,
            think_s=fields.number("think_seconds"),
            segments=_segments(fields, chat, len(own)),
            score=_is_scored(fields, reply),
            score_shared=fields.count("score_shared"),
        )

    def _own_tokens(self, fields: Fields) -> tuple[int, ...]:
        if "tokens" in fields:
            if others := [name for name in _PART_KEYS if name in fields and name != "tokens"]:
                raise fields.bad(others[0], "a prompt is given either by tokens or by prefix and unique parts")
            return fields.tokens("tokens")
        if ("prefix_id" in fields) != ("prefix_tokens" in fields):
            raise fields.bad("prefix_tokens" if "prefix_tokens" in fields else "prefix_id", "prefix_id and prefix_tokens come together")
        prefix = self._streams.first("prefix " + fields.text("prefix_id"), count) if (count := fields.count("prefix_tokens")) else ()
        unique = fields.count("unique_tokens")
        if "unique_id" in fields:
            return prefix + self._streams.first("unique " + fields.text("unique_id"), unique)
        return prefix + self._fresh.take(unique)


def _is_scored(fields: Fields, reply: int) -> bool:
    score = fields.flag("score")
    if score and reply:
        raise fields.bad("score", f"a prompt that is scored has no reply, and one of {reply:,} tokens is given")
    if not score and fields.count("score_shared"):
        raise fields.bad("score_shared", "it belongs to a request with score")
    return score


def _segments(fields: Fields, chat: str, own: int) -> tuple[Segment, ...]:
    """Return the segments of a row's own part: what is the system's, if the row says so, and the user's; none of a plain prompt."""
    if "system_tokens" not in fields:
        return (Segment("user", own),) if chat else ()
    if "continues" in fields:
        raise fields.bad("system_tokens", "the request before it has them already")
    system = fields.count("system_tokens")
    if not 0 < system < own:
        raise fields.bad("system_tokens", f"they are part of the prompt's {own:,} tokens")
    return Segment("system", system), Segment("user", own)


def _scaled(count: Any, scale: float) -> Any:
    # what is no count is left for the check that names it
    return max(UNSCALED, round(count * scale)) if type(count) is int and count > UNSCALED else count


def _action(fields: Fields) -> Request:
    action = fields.text("action")
    if action not in ACTIONS:
        raise fields.bad("action", f"the actions are {', '.join(ACTIONS)}")
    return Request(label=action, action=action, max_new=0, think_s=fields.number("think_seconds") + fields.number("settle_seconds"))
