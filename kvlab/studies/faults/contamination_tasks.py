"""The tasks of experiment C: a shared beginning of about 500 characters, then a nonce and a mark that the answer has to repeat.

A mark is one word (the task's feature) and one number (its nonce). The tasks are copying, which a model of 135 million parameters can do,
so every cold answer can be told from every other. Long tasks have sentences between the mark and the question.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvlab.workloads import Request

SHARED = (
    "You are the clerk of a small harbour office. Every note that comes in has a ticket number and a code word. The notes are about boats, berths, ropes, "
    "weather, wages and repairs; most of what they say does not matter to you. Your only duty is to send the ticket number and the code word back, so that "
    "the sender knows that the note was read. Do not explain anything, do not greet anybody, do not add a word of your own. A reply is always one short "
    "line: first the number, then a comma, then the code word."
)
"""The beginning of every prompt."""

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

_NOTES = (
    "The wind came from the west all morning and the ferry was late again. ",
    "Two of the ropes at the second berth are worn and should be changed before the storm. ",
    "The cook asks whether the flour can be paid next week. ",
    "A visitor left a green umbrella in the waiting room. ",
    "The tide table on the wall is from last year. ",
    "Somebody painted the door blue, nobody knows who did it. ",
    "The crane needs oil and the lamp on the pier needs a new bulb. ",
    "The harbour master is away until Thursday. ",
)

LENGTHS: dict[str, tuple[int, int]] = {"mixed": (0, 10), "equal": (1, 1)}
"""Sentences between mark and question, of even tasks and of odd ones."""

NEW_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Task:
    """One task: its number from 1, its feature, its nonce, and what is asked."""

    number: int
    word: str
    nonce: str
    prompt: str

    @property
    def request(self) -> Request:
        """The request."""
        return Request(label=f"task {self.number}", prompt=self.prompt, max_new=NEW_TOKENS)

    def is_in(self, answer: str) -> bool:
        """Whether an answer holds this task's feature and its nonce."""
        return self.word in answer.lower() and self.nonce in answer

    def is_hinted_in(self, answer: str) -> bool:
        """Whether an answer holds this task's feature or its nonce."""
        return self.word in answer.lower() or self.nonce in answer


def tasks(lengths: str = "mixed", count: int = 16) -> tuple[Task, ...]:
    """Return `count` (at most 16) tasks, long and short in turn (`mixed`) or all of about one length (`equal`)."""
    return tuple(_task(place, LENGTHS[lengths][place % 2]) for place in range(min(count, len(_WORDS))))


def _task(place: int, sentences: int) -> Task:
    word, nonce = _WORDS[place], str(_NUMBERS[place])
    between = "".join(_NOTES[(place + step) % len(_NOTES)] for step in range(sentences))
    prompt = (
        f"{SHARED}{nonce} is a new page in the book, with these lines: the mark of this note is {word} {nonce}, and again, the mark of this note is "
        f"{word} {nonce}. {between}Once more, the mark of this note is"
    )
    return Task(place + 1, word, nonce, prompt)
