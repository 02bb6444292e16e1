"""The workloads that no named experiment is, as requests of token ids; lengths that a report does not give stand here by name.

A3 is here too: the named one is made of texts, this one of the tokens that the report counts, with tool results of several lengths.

Invariant: the same call gives the same tokens.
"""

from __future__ import annotations

from kvlab.workloads import Follow, Request, Workload
from kvlab.workloads.cases import requests_of
from kvlab.workloads.experiments import chat_rows, follow_ups
from kvlab.workloads.streams import Fresh, NamedStreams

TEMPLATE = 18
"""Tokens with which a chat template begins every prompt."""

TOOLS = 18_573
"""Tokens of system prompt and tools that matched (of a prompt of 18,583)."""

TOOL_RESULT = 800
"""Tokens of a tool's result in the agent session; the report does not say."""

SAME_QUESTION = (1, 12, 3, 4, 10, 2)
"""Tokens of #17783's chat: its beginning; its question ("how many days in a week?") with the template around it; what opens an answer; the empty thoughts
before one that is yet to come; the answer ("There are **7** days in a week."); what ends it. The first four are the 20 of its log; the parts were
counted by hand.
"""

AGENT_CALLS = 9
SHORT_PROMPT = 1_300
"""Tokens of a short prompt of #17924, fitted to its rate: the report does not say."""


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
