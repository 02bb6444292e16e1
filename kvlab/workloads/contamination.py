"""Contamination: tasks that share a beginning, each with a word and a nonce of its own, asked again and again. An answer must be its own task's.

A task's answer has to hold its word (the feature) and its nonce; an answer that holds another's came from another prompt's state. Two forms
of the same tasks stand here. `tasks` are prompts to complete, which a model of 135 million parameters can do, so every cold answer can be told
from every other. `contamination_requests` are messages for a chat model, with a new nonce every round; a long one after a short one
overwrites more than one chunk, which is where the defect shows.
"""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

from kvlab.workloads.request import Request

TASKS, ROUNDS = 16, 3
NEW_TOKENS, NEW_TOKENS_TO_COMPLETE = 32, 8
LONG_CHARACTERS, SHORT_CHARACTERS = 24_000, 400
LENGTHS: dict[str, tuple[int, int]] = {"mixed": (0, 10), "equal": (1, 1)}
"""Sentences between mark and question in a prompt to complete, of even tasks and of odd ones."""

BEGINNING = (
    "You are the clerk of a small harbour office. Every note that comes in has a ticket number and a code word. The notes are about boats, berths, ropes, "
    "weather, wages and repairs; most of what they say does not matter to you. Your only duty is to send the ticket number and the code word back, so that "
    "the sender knows that the note was read. Do not explain anything, do not greet anybody, do not add a word of your own. A reply is always one short "
    "line: first the number, then a comma, then the code word."
)
"""The beginning of every prompt, about 500 characters."""

_WORDS = (
    "falcon",
    "tulip",
    "copper",
    "violin",
    "glacier",
    "pepper",
    "lantern",
    "saddle",
    "walnut",
    "cobra",
    "marble",
    "tunnel",
    "rocket",
    "anchor",
    "ribbon",
    "candle",
)
_NUMBERS = (4821, 1937, 7305, 2694, 8153, 3472, 6018, 9246, 5527, 1784, 7963, 2350, 8691, 4109, 6735, 3586)
_SENTENCES = (
    "The wind came from the west all morning and the ferry was late again. ",
    "Two of the ropes at the second berth are worn and should be changed before the storm. ",
    "The cook asks whether the flour can be paid next week. ",
    "A visitor left a green umbrella in the waiting room. ",
    "The tide table on the wall is from last year. ",
    "Somebody painted the door blue, nobody knows who did it. ",
    "The crane needs oil and the lamp on the pier needs a new bulb. ",
    "The harbour master is away until Thursday. ",
)
_LETTERS = "BCDFGHJKLMNPQRST"
_NONCE = re.compile(rf"\bticket number ([{_LETTERS}]{{4}}) ")


@dataclass(frozen=True, slots=True)
class Task:
    """One task: its number from 1, its feature, its nonce, and the prompt to complete."""

    number: int
    word: str
    nonce: str
    prompt: str

    @property
    def request(self) -> Request:
        """The request."""
        return Request(label=f"task {self.number}", prompt=self.prompt, max_new=NEW_TOKENS_TO_COMPLETE)

    def is_in(self, answer: str) -> bool:
        """Whether an answer holds this task's feature and its nonce."""
        return self.word in answer.lower() and self.nonce in answer

    def is_hinted_in(self, answer: str) -> bool:
        """Whether an answer holds this task's feature or its nonce."""
        return self.word in answer.lower() or self.nonce in answer


def tasks(lengths: str = "mixed", count: int = TASKS) -> tuple[Task, ...]:
    """Return `count` (at most 16) tasks to complete, short and long in turn (`mixed`) or all of about one length (`equal`)."""
    return tuple(_task(place, LENGTHS[lengths][place % 2]) for place in range(min(count, len(_WORDS))))


def contamination_requests(count: int = TASKS, rounds: int = ROUNDS, scale: float = 1.0) -> tuple[Request, ...]:
    """Return `rounds` times `count` requests; each has its own nonce. A `scale` below 1 makes the notes shorter, not the beginning."""
    return tuple(
        Request(
            label=f"task {task + 1} round {turn + 1}",
            messages=(("user", f"{BEGINNING}\n{_note(task, turn, scale)}"),),
            max_new=NEW_TOKENS,
            think_s=0.5,
        )
        for turn in range(rounds)
        for task in range(count)
    )


def nonce(task: int, turn: int) -> str:
    """Return the nonce of a task in a round, both counted from 0: four letters that no other has."""
    number = turn * 4096 + task
    return "".join(_LETTERS[number >> shift & 15] for shift in (12, 8, 4, 0))


def nonce_in(text: str) -> str | None:
    """Return the nonce that a request's text asks for; None when it is none of `contamination_requests`."""
    found = _NONCE.search(text)
    return found[1] if found else None


def _task(place: int, sentences: int) -> Task:
    word, number = _WORDS[place], str(_NUMBERS[place])
    between = "".join(_SENTENCES[(place + step) % len(_SENTENCES)] for step in range(sentences))
    prompt = (
        f"{BEGINNING}{number} is a new page in the book, with these lines: the mark of this note is {word} {number}, and again, the mark of this note is "
        f"{word} {number}. {between}Once more, the mark of this note is"
    )
    return Task(place + 1, word, number, prompt)


def _note(task: int, turn: int, scale: float) -> str:
    room = LONG_CHARACTERS if task % 2 == 0 else SHORT_CHARACTERS
    rng = random.Random(task)
    text = f"The note has the ticket number {nonce(task, turn)} and the code word {_WORDS[task % len(_WORDS)]}. "
    while len(text) < max(SHORT_CHARACTERS // 2, room * scale):
        text += rng.choice(_SENTENCES)
    return text
