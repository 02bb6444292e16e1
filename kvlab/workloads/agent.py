"""An agent's session: a system prompt with a catalogue of tools, turns with tool calls and results, then single requests on the same beginning."""

from __future__ import annotations

from kvlab.workloads.questions import QUESTIONS
from kvlab.workloads.request import Follow, Request
from kvlab.workloads.tool_schema import SCHEMA_CHARACTERS, TOOLS, schema

TURNS = 6
SINGLES = 15
NEW_TOKENS = 24
SMALLEST_TOOL = 220
"""Characters below which a scaled tool has no parameter left, so there are fewer tools instead."""

INSTRUCTIONS = (
    "You help in a small office. Use a tool when one fits, one at a time, and wait for its result. "
    "When you have what you need, answer in one short sentence. The tools are:\n"
)
_ASKED = (
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


def agent_requests(scale: float = 1.0, singles: int = SINGLES, new_tokens: int = NEW_TOKENS) -> tuple[Request, ...]:
    """Return nine calls of one session in six turns, then `singles` one-line requests that share its system prompt.

    Replies come back rendered differently in the next call, as templates do that strip the thinking. With a `scale` below 1 the
    catalogue and the results are shorter.
    """
    system = ("system", INSTRUCTIONS + _catalogue(scale))
    session: list[Request] = []
    for turn, asked in enumerate(_ASKED):
        session.append(_call(len(session), (("user", asked),), new_tokens, system))
        if turn in _CALLS:
            session.append(_call(len(session), (("tool", _result(_CALLS[turn], scale)),), new_tokens, system))
    alone = [
        Request(label=f"single {place + 1}", messages=(system, ("user", _short(place))), max_new=5, ignore_stop=True, think_s=2.0) for place in range(singles)
    ]
    return (*session, *alone)


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
