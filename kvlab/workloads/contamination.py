"""Contamination: tasks that share a beginning and differ in a nonce and in length, asked again and again. An answer must be its own task's.

A task's answer has to hold its nonce; an answer that holds another's came from another prompt's state. Long and short tasks take turns: a
long one after a short one overwrites more than one chunk, which is where the defect shows.
"""

from __future__ import annotations

import random

from kvlab.workloads.request import Request

TASKS, ROUNDS = 16, 3
NEW_TOKENS = 32
LONG_CHARACTERS, SHORT_CHARACTERS = 24_000, 400

BEGINNING = (
    "You keep the notebook of a small harbour. Each note below was written by one of the people who work there, and each has its own mark. "
    "Read the whole note before you answer. Repeat the mark exactly as it stands, then say in one sentence what the note is about. "
    "Do not mention any other note, do not guess at what is missing, and do not add advice. If the note speaks of weather, say which; "
    "if it speaks of a ship, give her name; if it speaks of money, give the sum. Keep the answer short.\n"
)
_SUBJECTS = ("the tide table", "a lost anchor", "the north light", "a crate of lemons", "the new rope", "a torn sail", "the fish market", "an old debt")
_SENTENCES = (
    "The wind came from the west and stayed there until noon. ",
    "Two boats went out and only one has come back so far. ",
    "Somebody left the gate open, and the gulls found the bread. ",
    "The water stood a hand higher than the mark on the wall. ",
    "We counted everything twice and wrote it down at once. ",
    "Nobody knows who ordered it, but it has been paid for. ",
)


def contamination_requests(tasks: int = TASKS, rounds: int = ROUNDS, scale: float = 1.0) -> tuple[Request, ...]:
    """Return `rounds` times `tasks` requests; each has its own nonce. A `scale` below 1 makes the notes shorter, not the beginning."""
    return tuple(
        Request(
            label=f"task {task + 1} round {turn + 1}",
            messages=(("user", BEGINNING + _note(task, turn, scale)),),
            max_new=NEW_TOKENS,
            think_s=0.5,
        )
        for turn in range(rounds)
        for task in range(tasks)
    )


def nonce(task: int, turn: int) -> str:
    """Return the mark of a task in a round, both counted from 0: four letters that no other has."""
    number = turn * 4096 + task
    return "".join("BCDFGHJKLMNPQRST"[number >> shift & 15] for shift in (12, 8, 4, 0))


def _note(task: int, turn: int, scale: float) -> str:
    room = LONG_CHARACTERS if task % 2 == 0 else SHORT_CHARACTERS
    rng = random.Random(task)
    text = f"Mark {nonce(task, turn)}. About {_SUBJECTS[task % len(_SUBJECTS)]}. "
    while len(text) < max(SHORT_CHARACTERS // 2, room * scale):
        text += rng.choice(_SENTENCES)
    return text
