"""Random plans: a policy with random choices in every field, and requests that share prompts, chat, follow, are cancelled and are abandoned.

A plan follows from its seed and the model's shape alone. Nothing here comes from the engine's own workloads or from the soak.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

from kvlab.errors import BadValue
from kvlab.policy import BOOLEANS, CHOICES, EVICT_MOMENTS, Policy
from kvlab.shape import Shape
from kvlab.workloads import Follow, Request
from kvlab.workloads.request import MediaItem, Segment

NOT_OF_A_RUN = {"fit", "close", "release"}
"""Fields that a run does not follow."""

WORDS = ("sea", "why", "ten", "a fox", "no.", "Red?", "to be")


@dataclass(frozen=True, slots=True)
class Action:
    """One request and how it is cut short, if it is.

    Attributes:
        request: The request.
        leave_at: Whoever reads its events leaves at the n-th one of this kind.
        left_open: Who left did not close the step: the next one ends it.
        cancel_at: It is cancelled after so many tokens of its reply.
    """

    request: Request
    leave_at: tuple[str, int] | None = None
    left_open: bool = False
    cancel_at: int | None = None

    def __str__(self) -> str:
        given = [(item.name, getattr(self.request, item.name)) for item in fields(Request) if getattr(self.request, item.name) != item.default]
        cut = [f"{item.name}={getattr(self, item.name)}" for item in fields(self)[1:] if getattr(self, item.name)]
        return " ".join([*(f"{name}={value}" for name, value in given), *cut])


@dataclass(frozen=True, slots=True)
class Plan:
    """Actions under a policy, from an empty cache."""

    seed: int
    policy: Policy
    actions: tuple[Action, ...]

    def __str__(self) -> str:
        choices = ", ".join(f"{name}={value}" for name, (value, _) in self.policy.diff(Policy()).items())
        return "\n".join([f"seed {self.seed}, policy: {choices}", *(f"  {number} {action}" for number, action in enumerate(self.actions, 1))])


def plan(seed: int, shape: Shape, *, vocabulary: int, most: int) -> Plan:
    """Return the plan of `seed`: token ids below `vocabulary`, prompts of about `most` tokens at most."""
    rng = random.Random(seed)
    policy = random_policy(rng, shape, most)
    return Plan(seed, policy, tuple(_actions(rng, vocabulary, most)))


def random_policy(rng: random.Random, shape: Shape, most: int) -> Policy:
    """Return a policy of which every field may differ from main."""
    unit = shape.bytes_per_token * most + shape.state_bytes
    drawn: dict[str, Callable[[], Any]] = {
        "budget_bytes": lambda: int(unit * rng.choice([0, 0.3, 1, 2.5, 6, 100])),
        "evict_at": lambda: frozenset(rng.sample(sorted(EVICT_MOMENTS), rng.randrange(len(EVICT_MOMENTS) + 1))),
        "capture_grid": lambda: rng.choice([1, 7, 16, 40]),
        "capture_before_end": lambda: rng.choice([0, 1, 4, 11]),
        "prefill_chunk": lambda: rng.choice([1, 5, 16, 33, 128]),
        "store_entries": lambda: rng.choice([0, 1, 3, 10]),
        **{name: lambda: rng.random() < 0.5 for name in BOOLEANS},
        **{name: lambda names=names: rng.choice(names) for name, names in CHOICES.items()},
    }
    assert drawn.keys() | NOT_OF_A_RUN == {field.name for field in fields(Policy)}
    small: dict[str, Any] = {"capture_grid": 16, "prefill_chunk": 16, "budget_bytes": drawn["budget_bytes"]()}
    often = rng.choice([0.1, 0.3, 0.7])
    policy = Policy(**small)
    for name in rng.sample(sorted(drawn), len(drawn)):
        if rng.random() < often:
            changed = policy.replace(**{name: drawn[name]()})
            policy = changed if _accepted(changed) else policy
    return policy


def _accepted(policy: Policy) -> bool:
    from kvlab.cache.supported import require_supported

    try:
        require_supported(policy)
    except BadValue:
        return False
    return True


def _actions(rng: random.Random, vocabulary: int, most: int) -> Iterator[Action]:
    stems = [_tokens(rng, vocabulary, rng.randrange(most // 3, most)) for _ in range(2)]
    chats: set[str] = set()
    for _ in range(rng.randrange(3, 7)):
        name = rng.choice(("", "", "", "", "a", "a", "b"))
        limit = rng.choice([0, 1, 2, 5])
        request = _chat(rng, name, chats, limit) if name else _prompt(rng, stems, vocabulary, most, limit)
        yield _cut_short(rng, request)


def _cut_short(rng: random.Random, request: Request) -> Action:
    # a conversation goes on only from a request that closed
    way = rng.randrange(8)
    if way == 0 and not request.chat:
        kinds = ("request_began", "matched", "scheduled", "chunk_ran", "captured", "snapshot_placed", "token_out", "paged_out", "evicted", "node_born")
        return Action(request, leave_at=(rng.choice(kinds), rng.randrange(1, 4)), left_open=rng.random() < 0.5)
    if way == 1:
        return Action(request, cancel_at=rng.randrange(1, 4))
    return Action(request)


def _chat(rng: random.Random, name: str, chats: set[str], limit: int) -> Request:
    messages: tuple[tuple[str, str], ...] = (("user", rng.choice(WORDS)),)
    think = rng.choice([0.0, 0.0, 1.0])
    if name not in chats or rng.random() < 0.1:
        chats.add(name)
        system = (("system", rng.choice(WORDS[:2])),) if rng.random() < 0.5 else ()
        return Request(messages=system + messages, chat=name, max_new=limit)
    follow = rng.choice([Follow(), Follow(), Follow(drop_tail=rng.randrange(1, 4), keep_reply=rng.randrange(2)), Follow(rerendered=rng.randrange(1, 4))])
    return Request(messages=messages, chat=name, follow=follow, max_new=limit, think_s=think)


def _prompt(rng: random.Random, stems: list[tuple[int, ...]], vocabulary: int, most: int, limit: int) -> Request:
    place = rng.randrange(len(stems))
    stem = stems[place]
    cut = len(stem) if rng.random() < 0.4 else rng.randrange(1, len(stem) + 1)
    tokens = (stem[:cut] + _tokens(rng, vocabulary, rng.choice([0, 0, 1, rng.randrange(most // 2)])))[: 2 * most]
    if rng.random() < 0.4:
        stems[place] = tokens
    size = len(tokens)
    ends = tuple(sorted(rng.sample(range(1, size + 1), min(size, 3)))) if rng.random() < 0.5 else ()
    kinds = ("system", "user", "assistant")[3 - len(ends) :] if ends else ()
    if rng.random() < 0.1:
        return Request(tokens=tokens, score=True, score_shared=rng.randrange(size), ends=ends)
    return Request(
        tokens=tokens,
        max_new=limit,
        generated=_tokens(rng, vocabulary, limit) if rng.random() < 0.2 else None,
        ignore_stop=rng.random() < 0.5,
        cancel_after=rng.randrange(1, size + 1) if rng.random() < 0.1 else None,
        think_s=rng.choice([0.0, 0.0, 0.0, 2.0]),
        media=_items(rng, tokens) if rng.random() < 0.15 else (),
        ends=ends,
        segments=tuple(map(Segment, kinds, ends)),
    )


def _items(rng: random.Random, tokens: tuple[int, ...]) -> tuple[MediaItem, ...]:
    # what its contents are is what its tokens are, so equal folds are equal tokens
    start = rng.randrange(len(tokens))
    end = min(len(tokens), start + rng.randrange(1, 20))
    return (MediaItem(start, end, 2**31 + hash(tokens[start:end]) % 2**31, whole=rng.random() < 0.7),)


def _tokens(rng: random.Random, vocabulary: int, count: int) -> tuple[int, ...]:
    return tuple(rng.randrange(vocabulary) for _ in range(count))
