"""The models and workloads of the published experiments, and how they run on the twin; lengths that a report does not give are named here.

The models are the shipped shapes, weights included, which say what of them is a fact, what was fitted and what is a guess. A3 is here too: the named
experiment is made of texts, this one of the tokens that the report counts, with tool results of several lengths.

Invariant: the same call gives the same tokens.
"""

from __future__ import annotations

from typing import Any

from kvlab.lab import Twin
from kvlab.lab.shapes import read_shape
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.recording.reported import reported_bytes
from kvlab.shape import Shape
from kvlab.workloads import Follow, Request, Workload, named
from kvlab.workloads.case_rows import requests_of
from kvlab.workloads.experiments import HYBRID_27B, HYBRID_35B, SLIDING_31B, chat_rows, follow_ups
from kvlab.workloads.streams import Fresh, NamedStreams

TEMPLATE = 18
"""Tokens with which a chat template begins every prompt."""

TOOLS = 18_573
"""Tokens of system prompt and tools that matched (of a prompt of 18,583)."""

TOOL_RESULT = 800
"""Tokens of a tool's result in the agent session; the report does not give them."""

SAME_QUESTION = (1, 12, 3, 4, 10, 2)
"""Tokens of #17783's chat: its beginning; its question ("how many days in a week?") with the template around it; what opens an answer; the empty thoughts
before one that is yet to come; the answer ("There are **7** days in a week."); what ends it. The first four are the 20 of its log; the parts were
counted by hand.
"""

AGENT_CALLS = 9
SHORT_PROMPT = 1_300
"""Tokens of a short prompt of #17924, fitted to its rate: the report does not give them."""


def hybrid27() -> Shape:
    """qwen3.8:27b as shipped: gated delta, full attention, a draft layer; its weights are what the 50-turn table leaves for them."""
    return read_shape(HYBRID_27B)


def hybrid35() -> Shape:
    """qwen3.6:35b as shipped; its weights are the resident bytes before the first request (#17924)."""
    return read_shape(HYBRID_35B)


def sliding31() -> Shape:
    """gemma4:31b as shipped: sliding windows and full attention; its weights as the log of #17783 says."""
    return read_shape(SLIDING_31B)


def run(shape: Shape, workload: Workload, policy: Policy) -> Recording:
    """Run `workload` on the twin of `shape` under `policy`, without a progress bar."""
    return Twin(shape).run(workload, policy=policy, progress=False)


def run_named(name: str, **choices: Any) -> Recording:
    """Run a named experiment (`A1`, `B:0.30.7`) as `kvlab twin` does: on its own shape, under its own policy, with single `choices` on top."""
    workload = named(name)
    return run(read_shape(workload.shape_name), workload, Policy().amended(workload.policy).replace(**choices))


def sizes(recording: Recording) -> list[int]:
    """Return what a server would report after each request, in bytes, the first request first."""
    reported = reported_bytes(recording)
    return [reported[request] for request in sorted(reported)]


def agent_then_single(singles: int = 15, tool_result: int = TOOL_RESULT) -> Workload:
    """Return an agent session behind system prompt and tools, then `singles` requests that share only these."""
    fresh, tools = Fresh(), NamedStreams().first("tools", TOOLS)
    calls = [_request(tools + fresh.take(60), 80, chat="agent")]
    calls += [_request(fresh.take(tool_result), 80, chat="agent", follow=Follow(drop_tail=1)) for _ in range(AGENT_CALLS - 1)]
    return Workload("agent then single", (*calls, *(_request(tools + fresh.take(10), 5) for _ in range(singles))))


def chat(turns: int) -> Workload:
    """Return the conversation of D4 with another number of turns."""
    return Workload("chat", requests_of("chat", chat_rows(turns)))


def same_question(turns: int) -> Workload:
    """Return #17783's chat: one question again and again, each answer in its prompt from then on, without the empty thoughts that it began with."""
    fresh = Fresh()
    begin, question, opener, thoughts, answer, end = (fresh.take(count) for count in SAME_QUESTION)
    turn = question + opener + answer + end
    prompts = [begin + turn * number + question + opener + thoughts for number in range(turns)]
    return Workload("same question", tuple(Request(tokens=prompt, generated=answer + end[:1]) for prompt in prompts))


def short_prompts(count: int) -> Workload:
    """Return `count` short unrelated prompts behind the same template."""
    fresh, streams = Fresh(), NamedStreams()
    return Workload("short prompts", tuple(_request(streams.first("template", TEMPLATE) + fresh.take(SHORT_PROMPT), 16) for _ in range(count)))


def follow_up(matched: int, total: int, first_own: int = 30) -> Workload:
    """Return a cold prompt and one of `total` tokens that agrees with it so that `matched` tokens match with a look-ahead of 1."""
    return Workload("follow-up", requests_of("follow-up", follow_ups(matched + 1, first_own, total - matched - 1, 1)))


def _request(tokens: tuple[int, ...], reply: int, *, chat: str = "", follow: Follow | None = None) -> Request:
    return Request(tokens=tokens, max_new=reply, ignore_stop=True, chat=chat, follow=follow)
