"""Families of workloads: names whose part after the colon is more than a number, such as `ladder:1024..131072`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from kvlab.errors import BadValue
from kvlab.workloads.agent import SINGLES, agent_requests
from kvlab.workloads.case_rows import requests_of
from kvlab.workloads.contamination import ROUNDS, TASKS, contamination_requests
from kvlab.workloads.experiments import HYBRID_27B, HYBRID_35B, LADDER, SMALL_HYBRID, SMALL_KV, ladder_rows
from kvlab.workloads.series import SERIES
from kvlab.workloads.traces import shipped_trace
from kvlab.workloads.workload import Workload

MOST_TASKS = 4096
LONGEST_RUNG = 4_000_000
"""Tokens of a ladder's longest prompt at most: a stream of the twin's ids is not longer."""


@dataclass(frozen=True, slots=True)
class Family:
    """A family: how to build one from the text after the colon ("" for none) and a scale, an example, and what it is in one line."""

    build: Callable[[str, float], Workload]
    example: str
    about: str


def ladder(low: int = LADDER[0], high: int = LADDER[-1], scale: float = 1.0) -> Workload:
    """Return cold prompts of `low`, twice, four times, … up to `high` tokens, in turn, that share nothing."""
    if not 0 < low <= high <= LONGEST_RUNG:
        raise BadValue(
            what=f"ladder:{low}..{high} has no rungs",
            why=f"it goes up from a number of tokens above 0 to at most {LONGEST_RUNG}",
            hint="write for example ladder:1024..131072",
        )
    rungs = [low]
    while rungs[-1] * 2 <= high:
        rungs.append(rungs[-1] * 2)
    name = f"ladder:{low}..{high}"
    rows = ladder_rows(tuple(rungs))
    return Workload(name, requests_of(name, rows, scale), question="budget_or_leak", shape_name=HYBRID_35B, model=SMALL_HYBRID)


def contamination(tasks: int = TASKS, rounds: int = ROUNDS) -> Workload:
    """Return `tasks` tasks with a shared beginning and their own marks, the same in each of `rounds` rounds; 16x3 are C1's requests."""
    if not 0 < tasks <= MOST_TASKS or not 0 < rounds <= 8:
        raise BadValue(
            what=f"contamination:{tasks}x{rounds} cannot be run", why=f"it has 1 to {MOST_TASKS} tasks and 1 to 8 rounds", hint="write contamination:16x3"
        )
    requests = contamination_requests(tasks, rounds)
    return Workload(f"contamination:{tasks}x{rounds}", requests, question="is_the_answer_right", shape_name=SMALL_KV, model=SMALL_KV)


def agent(singles: int = SINGLES, scale: float = 1.0) -> Workload:
    """Return an agent's session of nine calls with 32 tools, then `singles` one-line requests that share its system prompt."""
    name = "agent" if singles == SINGLES else f"agent:{singles}"
    return Workload(name, agent_requests(scale, singles), question="budget_or_leak", shape_name=HYBRID_27B, model=SMALL_HYBRID)


def series(over: str = "requests") -> Workload:
    """Return the series over `context`, `requests` or `concurrency`."""
    if over not in SERIES:
        raise BadValue(what=f"there is no series over {over!r}", why=f"the series are over {', '.join(SERIES)}", hint="write for example series:requests")
    return Workload(f"series:{over}", SERIES[over](), question="budget_or_leak", shape_name=HYBRID_27B, model=SMALL_HYBRID)


def _two(text: str, between: str, example: str, usual: tuple[int, int]) -> tuple[int, int]:
    if not text:
        return usual
    found = re.fullmatch(rf"(\d{{1,9}}){re.escape(between)}(\d{{1,9}})", text, re.ASCII)
    if found is None:
        raise BadValue(what=f"{text!r} is not two whole numbers with {between} between them", why=f"{example} has them", hint=f"write for example {example}")
    return int(found[1]), int(found[2])


def _ladder(text: str, scale: float) -> Workload:
    return ladder(*_two(text, "..", "ladder:1024..131072", (LADDER[0], LADDER[-1])), scale)


def _contamination(text: str, scale: float) -> Workload:
    del scale
    return contamination(*_two(text, "x", "contamination:16x3", (TASKS, ROUNDS)))


def _agent(text: str, scale: float) -> Workload:
    if text and not (text.isascii() and text.isdigit() and len(text) < 7):
        raise BadValue(what=f"{text!r} is not a number of single requests", why="agent:N needs a whole number", hint="write for example agent:15")
    return agent(int(text) if text else SINGLES, scale)


def _series(text: str, scale: float) -> Workload:
    del scale
    return series(text or "requests")


def _trace(text: str, scale: float) -> Workload:
    if scale != 1:
        raise BadValue(what=f"trace:{text} cannot be scaled by {scale:g}", why="blocks have a fixed size", hint="leave the scale away")
    return shipped_trace(text or "mooncake")


FAMILIES: dict[str, Family] = {
    "ladder": Family(_ladder, "ladder:1024..131072", "cold prompts, each twice as long as the last"),
    "contamination": Family(_contamination, "contamination:16x3", "tasks that share a beginning, in rounds"),
    "agent": Family(_agent, "agent", "a session with 32 tools, then single requests"),
    "trace": Family(_trace, "trace:mooncake", "a public trace of 12,031 requests; trace:azure has lengths only"),
    "series": Family(_series, "series:requests", "minimal series over context, requests or concurrency"),
}
"""The families by name."""
