"""An agent's session: a system prompt with a catalogue of tools, turns with tool calls and results, then single requests on the same beginning."""

from __future__ import annotations

import json
import random
from typing import Any

from kvlab.workloads.prompts import QUESTIONS
from kvlab.workloads.request import Follow, Request

TOOLS = 32
SCHEMA_CHARACTERS = 89_000
"""The size of a real agent's catalogue in the reports: 32 tools in about 89 KB."""

TURNS = 6
SINGLES = 15
NEW_TOKENS = 24
SMALLEST_TOOL = 220
"""Characters below which a scaled tool has no parameter left, so there are fewer tools instead."""

INSTRUCTIONS = (
    "You help in a small office. Use a tool when one fits, one at a time, and wait for its result. "
    "When you have what you need, answer in one short sentence. The tools are:\n"
)
_TURNS = (
    "Please find the letter from the garden shop.",
    "Put its date into the ledger.",
    "How many pages does the route plan have?",
    "Sort the pictures of last week by size.",
    "Is the ticket for Monday still open?",
    "Thank you. Write one line that sums up what we did.",
)
_CALLS = {0: "letter", 2: "route plan", 3: "pictures"}
"""The turns after which a tool's result is sent back, and what it is about."""

_RESULT = "The tool found the {what}: {rows} entries, the newest from this morning, the oldest from spring; each has a name, a size and an owner. "
RESULT_CHARACTERS = 1600

_VERBS = ("read", "write", "find", "list", "copy", "move", "count", "sort", "open", "close", "send", "fetch", "check", "plan", "merge", "trace")
_NOUNS = ("note", "page", "folder", "letter", "map", "table", "picture", "ticket", "garden", "ledger", "recipe", "route", "shelf", "voice", "window", "account")
_TYPES = ("string", "integer", "boolean", "number")
_OPENINGS = ("Says", "Names", "Limits", "Describes", "Selects", "Counts", "Marks", "Bounds")
_MIDDLES = ("which part is meant", "how far the work goes", "what is left out", "in which order results come", "who may see it", "when it was last changed")
_ENDINGS = ("as the owner wrote it", "with a short reason", "from the first line on", "unless nothing fits", "for the whole project", "in plain words")


def agent_requests(scale: float = 1.0, singles: int = SINGLES, new_tokens: int = NEW_TOKENS) -> tuple[Request, ...]:
    """Return nine calls of one session in six turns, then `singles` one-line requests that share its system prompt.

    Replies come back rendered differently in the next call, as templates do that strip the thinking. With a `scale` below 1 the
    catalogue and the results are shorter.
    """
    system = ("system", INSTRUCTIONS + _catalogue(scale))
    session: list[Request] = []
    for turn, message in enumerate(_TURNS):
        session.append(_call(len(session), (("user", message),), new_tokens, system))
        if turn in _CALLS:
            session.append(_call(len(session), (("tool", _result(_CALLS[turn], scale)),), new_tokens, system))
    alone = [
        Request(label=f"single {place + 1}", messages=(system, ("user", _short(place))), max_new=5, ignore_stop=True, think_s=2.0) for place in range(singles)
    ]
    return (*session, *alone)


def schema(tools: int = TOOLS, characters: int = SCHEMA_CHARACTERS, seed: int = 1) -> str:
    """Return a made-up catalogue of tools as JSON text of about `characters`; the same seed gives the same text.

    No two tools have the same name, up to 256 tools.
    """
    rng = random.Random(seed)
    names = [f"{verb}_{noun}" for verb in _VERBS for noun in _NOUNS]
    rng.shuffle(names)
    # the brackets and commas around the tools take two characters each
    return json.dumps([_tool(rng, name, characters // tools - 2) for name in names[:tools]])


def _tool(rng: random.Random, name: str, room: int) -> dict[str, Any]:
    verb, _, noun = name.partition("_")
    parameters: dict[str, Any] = {}
    tool: dict[str, Any] = {
        "type": "function",
        "function": {"name": name, "description": f"Use this to {verb} a {noun}.", "parameters": {"type": "object", "properties": parameters}},
    }
    while len(json.dumps(tool)) < room:
        sentence = f"{rng.choice(_OPENINGS)} {rng.choice(_MIDDLES)}, {rng.choice(_ENDINGS)}."
        left = room - len(json.dumps(tool))
        if left < 120:
            tool["function"]["description"] += f" {sentence}"[: max(1, left)]
        else:
            parameters[f"{rng.choice(_NOUNS)}_{len(parameters) + 1}"] = {"type": rng.choice(_TYPES), "description": sentence}
    return tool


def _call(place: int, messages: tuple[tuple[str, str], ...], new_tokens: int, system: tuple[str, str]) -> Request:
    return Request(
        label=f"call {place + 1}",
        messages=messages if place else (system, *messages),
        max_new=new_tokens,
        ignore_stop=True,
        chat="agent",
        follow=Follow(rerendered=new_tokens) if place else None,
        think_s=5.0,
    )


def _catalogue(scale: float) -> str:
    characters = max(SMALLEST_TOOL, round(SCHEMA_CHARACTERS * scale))
    return schema(min(TOOLS, max(1, characters // SMALLEST_TOOL)), characters)


def _result(what: str, scale: float) -> str:
    sentence = _RESULT.format(what=what, rows=7 * len(what))
    return (sentence * (1 + RESULT_CHARACTERS // len(sentence)))[: max(80, round(RESULT_CHARACTERS * scale))]


def _short(place: int) -> str:
    words = QUESTIONS[place % len(QUESTIONS)].split()
    return " ".join(words[:2])
