"""Contamination: tasks that share a beginning, each with a mark at its prompt's end, sent round after round. An answer must hold its own task's mark.

A mark is a code word (the feature) and a ticket number (the nonce), written twice, each time on a line of its own: a model that goes on with the
next line repeats it, one of 135 million parameters too, so every cold answer differs from every other.
What comes before the mark is a note, a long and a short one in turn, or one note in all prompts (`equal`). Marks have equal lengths, in letters and
in the tokens of the embedded model and of the twin, so prompts with the same note are exactly as long; they differ in their code words' only token.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvlab.workloads.request import Request

TASKS, ROUNDS = 16, 3

NEW_TOKENS = 16
"""Tokens of every reply: two lines of a mark in the embedded model's tokens."""

BEGINNING = (
    "You are the clerk of a small harbour office. Every note that comes in has a ticket number and a code word. The notes are about boats, berths, ropes, "
    "weather, wages and repairs; most of what they say does not matter to you. Your only duty is to send the ticket number and the code word back, so that "
    "the sender knows that the note was read. Do not explain anything, do not greet anybody, do not add a word of your own. A reply is always one short "
    "line: first the code word, then a comma, then the number."
)
"""The beginning of every prompt, about 500 characters."""

LONG = " The wind came from the west all morning and the ferry was late again on three cold days this week. The next note is a long one."
SHORT = " The ferry was late again. The next note is a short one."
NOTES: dict[str, tuple[str, str]] = {"mixed": (LONG, SHORT), "equal": (SHORT, SHORT)}
"""The notes of tasks 1, 3, … and of tasks 2, 4, …"""

WORDS = (
    "falcon",
    "copper",
    "silver",
    "violin",
    "pepper",
    "candle",
    "marble",
    "tunnel",
    "rocket",
    "anchor",
    "ribbon",
    "saddle",
    "walnut",
    "window",
    "bridge",
    "planet",
)
"""Code words: of six letters, and one token each with the space before them."""


@dataclass(frozen=True, slots=True)
class Task:
    """One task: its number from 1, its code word, its ticket number, and its prompt."""

    number: int
    word: str
    nonce: str
    prompt: str

    def request(self, turn: int = 0) -> Request:
        """Return the request of a round, counted from 0: the same prompt in each."""
        label = f"task {self.number} round {turn + 1}"
        return Request(label=label, prompt=self.prompt, max_new=NEW_TOKENS, ignore_stop=True, marks=(self.word, self.nonce), think_s=0.5)


def tasks(lengths: str | tuple[str, str] = "mixed", count: int = TASKS) -> tuple[Task, ...]:
    """Return `count` tasks with long and short notes in turn (`mixed`), of exactly one length (`equal`), or with two other notes in turn.

    Past 16, code words come again.
    """
    notes = NOTES[lengths] if isinstance(lengths, str) else lengths
    return tuple(_task(place, notes[place % 2]) for place in range(count))


def contamination_requests(count: int = TASKS, rounds: int = ROUNDS, lengths: str | tuple[str, str] = "mixed") -> tuple[Request, ...]:
    """Return the requests of `count` tasks, `rounds` times; `lengths` as in `tasks`."""
    return tuple(task.request(turn) for turn in range(rounds) for task in tasks(lengths, count))


def unloaded(rounds: int) -> tuple[Request, ...]:
    """Return the mixed tasks in so many rounds, with an unload after every call."""
    unload = Request(label="unload", action="unload", max_new=0)
    return tuple(one for request in contamination_requests(rounds=rounds) for one in (request, unload))


def nonce(task: int) -> str:
    """Return the ticket number of a task, counted from 0: four digits that no other of the first 9,000 has."""
    return str(1000 + (3821 + 2731 * task) % 9000)


def _task(place: int, note: str) -> Task:
    word, number = WORDS[place % len(WORDS)], nonce(place)
    mark = f"- {word},{number}\n"
    return Task(place + 1, word, number, f"{BEGINNING}{note}\n{mark}{mark}")
