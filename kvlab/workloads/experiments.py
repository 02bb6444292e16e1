"""The published experiments by name, with their sizes, their model and their policy. `A1` … `E2` are the sections of the reports they come from.

A name may carry an arm: `D4:before` is D4 under the rules before the change, `D4` under today's. Counts of tokens scale, counts of requests
do not: what grows per request stays visible. This file has the requests; a case file of the same report fixes single figures.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kvlab.errors import BadValue
from kvlab.workloads.agent import agent_requests
from kvlab.workloads.case_rows import ACTIONS, requests_of
from kvlab.workloads.contamination import contamination_requests, unloaded
from kvlab.workloads.request import Request
from kvlab.workloads.scenarios import media_requests, unrelated
from kvlab.workloads.series import SERIES, by_requests
from kvlab.workloads.workload import Workload

HYBRID_27B, HYBRID_35B, SLIDING_31B = "qwen3.8-27b", "qwen3.6-35b-a3b", "gemma4-31b"
SMALL_HYBRID, SMALL_SLIDING, SMALL_KV = "tiny-hybrid", "tiny-sliding", "smollm2"
SMALL_CONV = "random-conv"
"""Its convolutions' states are views of a forward's input, which is what B is about; mlx-lm's gated-delta layers copy theirs out by themselves."""

LADDER = (1024, 4096, 8192, 16384, 32768, 65536, 131072)

Build = Callable[[float], tuple[Request, ...]]


@dataclass(frozen=True, slots=True)
class Experiment:
    """One named experiment.

    Attributes:
        about: What it is, in one line.
        build: Makes its requests for a scale of token counts, 1 for the published sizes.
        shape: The shipped shape it was made on, with the weights that the reports on that model leave for it.
        model: The small model that a real run takes.
        question: What it answers.
        policy: Choices that differ from today's upstream main: the `version` that its report names, where it names one.
        arms: More arms, each with the choices it has instead.
        forms: More arms, each with the requests it has instead, under the experiment's own choices.
    """

    about: str
    build: Build
    shape: str
    model: str
    question: str
    policy: dict[str, Any] = field(default_factory=dict[str, Any])
    arms: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    forms: dict[str, Build] = field(default_factory=dict[str, Build])


_BEFORE = {"protect": "active_path"}
_REPORTED = {"version": "0.32.12"}
_PINS = {"version": "0.30.8"}
_LAST_SWEEPS = {"version": "0.33.0"}

_TIGHT = {"budget_bytes": "875MiB"}
"""7,000 tokens of D3's model: the second prompt pushes out what it can of the first."""

MID_EDGE: list[dict[str, Any]] = [
    {"prefix_id": "shared", "prefix_tokens": 1000, "unique_tokens": 4000, "generated_tokens": 40},
    {"unique_tokens": 4000, "generated_tokens": 40},
    {"prefix_id": "shared", "prefix_tokens": 1000, "unique_tokens": 4000, "generated_tokens": 40, "chat": "resumed"},
    {"unique_tokens": 3000, "generated_tokens": 40},
    {"continues": "resumed", "unique_tokens": 500, "generated_tokens": 40},
]
"""Case rows of D3: the third prompt resumes inside the edge of the first, the fifth continues the third."""

ROUNDS_UNLOADED = 6
"""Rounds of C1's 96 calls with an unload after each."""


def ladder_rows(counts: tuple[int, ...]) -> list[dict[str, Any]]:
    """Return case rows of cold prompts, one a count of tokens, that share nothing."""
    return [{"unique_tokens": count, "generated_tokens": 16, "think_seconds": 30.0} for count in counts]


def _rows(name: str, rows: list[dict[str, Any]]) -> Build:
    return lambda scale: requests_of(name, rows, scale)


def chat_rows(turns: int) -> list[dict[str, Any]]:
    """Return case rows of one conversation of `turns` short questions whose replies come back rendered differently."""
    return [
        {"prefix_id": "system", "prefix_tokens": 45, "unique_tokens": 28, "generated_tokens": 24, "think_seconds": 5.0, "chat": "chat"},
        {"continues": "chat", "drop_tail_tokens": 1, "unique_tokens": 31, "generated_tokens": 24, "think_seconds": 5.0, "repeat": turns - 1},
    ]


def follow_ups(prefix: int, first: int, then: int, times: int) -> list[dict[str, Any]]:
    """Return case rows of a prompt of `prefix` and `first` tokens, and `times` more of the same prefix and `then` own tokens."""
    shared = {"prefix_id": "agent", "prefix_tokens": prefix, "generated_tokens": 40}
    return [shared | {"unique_tokens": first, "think_seconds": 1.0}, shared | {"unique_tokens": then, "think_seconds": 10.0, "repeat": times}]


def _short(count: int) -> Build:
    return lambda _: tuple(unrelated(count, 5).requests)


def _series(build: Callable[[], tuple[Request, ...]]) -> Build:
    return lambda _: build()


def _unloads(scale: float) -> tuple[Request, ...]:
    # the last question proves that a model loads again after the last way, too
    ways = [Request(label=action, action=action, max_new=0, think_s=5.0) for action in ACTIONS]
    del scale
    chats = unrelated(10, 5).requests
    return (*chats[:3], ways[0], *chats[3:6], ways[1], *chats[6:9], ways[2], *chats[9:])


EXPERIMENTS: dict[str, Experiment] = {
    "A1": Experiment("15 unrelated one-line chats, 5 tokens each", _short(15), HYBRID_27B, SMALL_HYBRID, "budget_or_leak", _REPORTED),
    "A2": Experiment("60 unrelated one-line chats, 5 tokens each", _short(60), HYBRID_27B, SMALL_HYBRID, "budget_or_leak", _REPORTED),
    "A3": Experiment("an agent's session with 32 tools, then 15 one-line requests", agent_requests, HYBRID_27B, SMALL_HYBRID, "budget_or_leak", _REPORTED),
    "B": Experiment(
        "cold prompts of 1,024 to 131,072 tokens, the longest twice",
        _rows("B", ladder_rows((*LADDER, LADDER[-1]))),
        HYBRID_35B,
        SMALL_CONV,
        "budget_or_leak",
        _PINS,
        {"after": {}, "0.30.7": {"version": "0.30.7"}},
    ),
    "B1": Experiment("the ladder without its repetition", _rows("B1", ladder_rows(LADDER)), HYBRID_35B, SMALL_CONV, "budget_or_leak", _PINS, {"after": {}}),
    "B2": Experiment("the longest prompt alone", _rows("B2", ladder_rows(LADDER[-1:])), HYBRID_35B, SMALL_CONV, "why_slow", _PINS, {"after": {}}),
    "C1": Experiment(
        "16 prompts with a shared beginning and a mark at the end, the same in 3 rounds",
        lambda _: contamination_requests(),
        SMALL_KV,
        SMALL_KV,
        "is_the_answer_right",
        {"version": "0.32.5"},
        {"after": {"version": "0.32.7"}},
        {"equal": lambda _: contamination_requests(lengths="equal"), "unloaded": lambda _: unloaded(ROUNDS_UNLOADED)},
    ),
    "D1": Experiment(
        "a long prefix resumed where no state rests",
        _rows("D1", follow_ups(21742, 30, 1427, 2)),
        HYBRID_27B,
        SMALL_HYBRID,
        "why_not_reused",
        {},
        {"before": {"version": "0.33.0"}},
    ),
    "D2": Experiment(
        "pictures in a prompt: captures and matches that fall inside one",
        media_requests,
        SLIDING_31B,
        SMALL_SLIDING,
        "why_not_reused",
        {},
        {"before": {"media": "anywhere"}},
    ),
    "D3": Experiment(
        "a prompt that resumes partway through another's edge, under a budget that evicts; its conversation continues later",
        _rows("D3", MID_EDGE),
        "llama3.1-8b",
        SMALL_KV,
        "why_not_reused",
        _TIGHT,
        {"before": {"mid_edge": "drop", **_TIGHT}},
    ),
    "D4": Experiment(
        "a chat of 50 turns whose replies come back rendered differently",
        _rows("D4", chat_rows(50)),
        HYBRID_27B,
        SMALL_HYBRID,
        "budget_or_leak",
        {},
        {"before": _BEFORE},
    ),
    "D7": Experiment(
        "a second, unrelated 84,000-token request after a stored one",
        _rows("D7", ladder_rows((84_000, 84_000))),
        HYBRID_27B,
        SMALL_HYBRID,
        "will_it_fit",
        _LAST_SWEEPS | {"lifetimes": "scopes"},
        {"before": _LAST_SWEEPS},
    ),
    "E1": Experiment(
        "three minimal series; E1 is the one over the number of requests",
        lambda _: by_requests(),
        HYBRID_27B,
        SMALL_HYBRID,
        "budget_or_leak",
        forms={name: _series(build) for name, build in SERIES.items()},
    ),
    "E2": Experiment(
        "three short questions and an unload, three times: by a call, by ollama stop, by a restart of the server",
        _unloads,
        HYBRID_27B,
        SMALL_HYBRID,
        "what_will_unload_give_back",
    ),
}
"""The experiments by name."""

ELSEWHERE = {
    "D5": "the fit check belongs to loading a model, not to requests",
    "D6": "closing a process belongs to `kvlab serve`",
    "D8": "weights that are absent or valid belong to loading a model",
    "D9": "the pool after loading is the choice clear_pool_after_load of any run",
    "E3": "draining and reloading a shared server belongs to `kvlab recycle`",
    "E4": "it is a list to go through, not requests",
}
"""Sections that are no workload, and why."""


def experiment(name: str, arm: str = "", scale: float = 1.0) -> Workload:
    """Return an experiment by name and arm.

    Raises:
        BadValue: it has no such arm.
    """
    found = EXPERIMENTS[name]
    known = [*found.arms, *found.forms]
    if arm and arm not in known:
        raise BadValue(
            what=f"{name} has no arm {arm!r}",
            why=f"its arms are {', '.join(known)}, or none" if known else "it has one arm only",
            hint=f"write {name}" + (f" or {name}:{known[0]}" if known else ""),
        )
    return Workload(
        name=f"{name}:{arm}" if arm else name,
        requests=found.forms.get(arm, found.build)(scale),
        policy=dict(found.arms.get(arm, found.policy)),
        question=found.question,
        shape_name=found.shape,
        model=found.model,
    )
