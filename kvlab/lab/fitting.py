"""Fitting: a workload of a large model, cut to what a small one can hold and run in a minute or two, with a budget that fills as it did.

The rule: the budget stays the same share of what all requests would leave behind if nothing were evicted. Both amounts come from twins:
of the large shape at full size, and of the small model at the smaller scale. So what filled the budget after 28 requests still does,
and what never filled it still does not.

A trace keeps the lengths of its prompts, which are what it is about: of it the first requests are taken, half, a quarter, … of them, and
the budget is compared on these.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from kvlab.errors import BadValue
from kvlab.lab.shapes import open_twin
from kvlab.lab.source import Source
from kvlab.lab.twin import Twin
from kvlab.policy import Policy
from kvlab.recording.extremes import largest
from kvlab.shape import Shape
from kvlab.units import LARGEST
from kvlab.workloads import Request, Workload, resolve
from kvlab.workloads.blocks import TraceRequests
from kvlab.workloads.text_tokens import request_tokens, word_tokens
from kvlab.workloads.workload import OnAccess

MOST_EVALUATED = 9_000
"""Prompt tokens that a fitted run may have to evaluate, a new token counted as `NEW_TOKEN` of them: under two minutes on two cores."""

MOST_SECONDS = 120
NEW_TOKEN = 16
SMALLEST = 2.0**-12
SAMPLE = 1000

Encode = Callable[[Request], Sequence[int]]


@dataclasses.dataclass(frozen=True, slots=True)
class Fitted:
    """A workload for a small model.

    Attributes:
        workload: Its requests and policy.
        scale: What counts of tokens were multiplied by.
        share: Its budget as a share of what its requests leave behind unless evicted; None when the budget was not fitted.
        cost: Tokens to evaluate, a new token counted as `NEW_TOKEN` of them; 0 when it was not computed.
        of: Requests of the trace that they are the first of; 0 when the workload is whole.
    """

    workload: Workload
    scale: float
    share: float | None
    cost: int = 0
    of: int = 0

    @property
    def seconds(self) -> float:
        """About how long a real run takes at most on two cores."""
        return MOST_SECONDS * self.cost / MOST_EVALUATED


def fitted(lab: Source, text: str, scale: float | None = None) -> Fitted:
    """Return the workload that `text` names, fitted to the model of `lab`; without a `scale`, the largest half, quarter, … that fits. One of the model's
    own shape is left as it is then.

    Raises:
        KvlabError: the workload is unknown or cannot be scaled.
    """
    whole = resolve(text)
    large = open_twin(whole.shape_name).shape if whole.shape_name else whole.shape
    if large is None or (scale is None and whole.shape_name == lab.name):
        return Fitted(whole if scale is None else resolve(text, scale), 1.0 if scale is None else scale, None)
    total = len(whole) if isinstance(whole.requests, TraceRequests) else 0
    if total:
        whole = _first(lab, whole, scale)
        work, scale, kept = whole, len(whole) / total, _kept_by(lab, whole)
    else:
        work, scale, kept = _scaled(lab, text, whole, scale)
    policy = Policy().amended(whole.policy)
    unevicted = _kept(dataclasses.replace(large, context=0), whole.requests, policy).counted
    if not unevicted or not kept.counted:
        return Fitted(work, scale, None, kept.cost, total)
    budget = max(1, round(policy.budget_bytes * kept.counted / unevicted))
    return Fitted(dataclasses.replace(work, policy=work.policy | {"budget_bytes": budget}), scale, policy.budget_bytes / unevicted, kept.cost, total)


def _first(lab: Source, trace: Workload, scale: float | None) -> Workload:
    """Return a trace's first requests: the share `scale` of them, else the largest half, quarter, … that is evaluated in time even if nothing is reused."""
    if scale is not None and scale > 1:
        raise BadValue(
            what=f"{trace.name} cannot be scaled by {scale:g}",
            why="of a trace the first requests are taken, such a share of them, and it has no more than all",
            hint="write for example --scale 1/8",
        )
    count = max(1, round(len(trace) * (1.0 if scale is None else scale)))
    if scale is None:
        room, cost, fits = lab.shape.context or LARGEST, 0, 0
        for request in trace.requests:
            cost += len(request.tokens) + NEW_TOKEN * request.limit
            if cost > MOST_EVALUATED or len(request.tokens) + request.limit > room:
                break
            fits += 1
        while count > max(1, fits):
            count = (count + 1) // 2
    return dataclasses.replace(trace, requests=trace.requests[:count])


def _scaled(lab: Source, text: str, whole: Workload, scale: float | None) -> tuple[Workload, float, _Kept]:
    work, now = (whole, 1.0) if scale is None else (resolve(text, scale), scale)
    room = lab.shape.context or LARGEST
    ratio = _tokens_a_word(lab, whole)
    while True:
        smaller = work if scale is not None or now <= SMALLEST else resolve(text, now / 2)
        is_smallest = list(smaller.requests) == list(work.requests)
        if is_smallest or max(_words(request, ratio) for request in work.requests) <= room:
            kept = _kept_by(lab, work)
            if is_smallest or (kept.cost <= MOST_EVALUATED and kept.longest <= room):
                return work, now, kept
        work, now = smaller, now / 2


def _tokens_a_word(lab: Source, work: Workload) -> float:
    text = next((request.text for request in work.requests if request.text), "")[:SAMPLE]
    return len(lab.encode(Request(prompt=text))) / len(word_tokens(text)) if text.strip() else 1.0


def _words(request: Request, ratio: float) -> float:
    return len(request.tokens) or ratio * len(request_tokens(request))


@dataclasses.dataclass(frozen=True, slots=True)
class _Kept:
    """What requests cost (tokens to evaluate), how long the longest one is with its reply, and what they leave behind if nothing is evicted."""

    cost: int
    longest: int
    counted: int


def _kept_by(lab: Source, work: Workload) -> _Kept:
    return _kept(dataclasses.replace(lab.shape, context=0), _in_tokens(work.requests, lab.encode), lab.usual_policy.amended(work.policy))


def _kept(shape: Shape, requests: Sequence[Request], policy: Policy) -> _Kept:
    sent = Workload("fitting", [request for request in requests if not request.action])
    rows = Twin(shape).run(sent, policy.replace(budget_bytes=LARGEST), progress=False).requests
    generated = rows["generated"]
    return _Kept(int(rows["left"].sum()) + NEW_TOKEN * int(generated.sum()), int(largest(rows["tokens"] + generated)), int(rows["counted"][-1]))


def _in_tokens(requests: Sequence[Request], encode: Encode) -> list[Request]:
    return [
        request if request.tokens or request.action else dataclasses.replace(request, tokens=tuple(encode(request)), messages=(), prompt="")
        for request in requests
    ]


def require_room_for_chats(source: Source, workload: Workload) -> None:
    """Check that every conversation fits the model's context, before the first request is run; the error names the first turn that does not.

    A turn's prompt is all turns before it, their replies and its own part, so it is at least the sum of the own parts: that much is known
    without running anything. What fits by this may still be refused at a later turn, when its replies are known.

    Raises:
        BadValue: a turn's prompt is longer than the context, whatever its replies are.
    """
    context = source.shape.context
    # requests that are made on access are all turns of a conversation, or none is
    if not context or (isinstance(workload.requests, OnAccess) and not workload.requests[0].chat):
        return
    held: dict[str, int] = {}
    turns: dict[str, int] = {}
    for request in workload.requests:
        if not request.chat or request.action:
            continue
        before = max(0, held.get(request.chat, 0) - request.follow.drop_tail) if request.follow else 0
        held[request.chat] = before + len(source.encode(request))
        turns[request.chat] = turns.get(request.chat, 0) + 1
        if held[request.chat] > context:
            fits = turns[request.chat] - 1
            shorter = f"use fewer than {fits:,} turns, as replies take room too" if fits > 1 else "shorten its first prompts"
            raise BadValue(
                what=f"turn {turns[request.chat]:,} of {workload.name} has a prompt of at least {held[request.chat]:,} tokens",
                why=f"{source.name} holds {context:,} tokens of context; nothing was run",
                hint=f"{shorter}, or take a model with a longer context",
            )
