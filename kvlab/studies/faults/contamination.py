"""Experiment C: the prompts of `C1` sent round after round to a long-lived runner. Who gets whose answer, and why.

Releases 0.32.5 and 0.32.7 differ in one choice that a model without draft layers follows (`copy_before_overwrite`). A wrong answer's cause is which
restored positions hold whose contents.

How it comes about: a task with a long note leaves its mark in a node of its own, which begins behind the end of the next, shorter prompt. That prompt's
first append ends before the node, so the node is not copied out; the reply then overwrites it. With prompts of one length the first append reaches every
node of the one before, and nothing is lost: as published.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from kvlab.events import WrongPositions
from kvlab.lab import Source, Twin
from kvlab.lab.shapes import read_shape
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.workloads import Workload, named
from kvlab.workloads.contamination import ROUNDS, TASKS, Task, contamination_requests, tasks
from kvlab.workloads.marks import holds_all

if TYPE_CHECKING:
    from kvlab.lab.lab import Lab

FAULT_VERSION, CURED_VERSION = "0.32.5", "0.32.7"


@dataclass(frozen=True, slots=True)
class Answer:
    """One call and what it got.

    Attributes:
        request: Its number in the run, from 1.
        round: Its round, from 1.
        task: Its task's number.
        text: The answer.
        own: It holds its own task's feature and nonce.
        others: Tasks whose feature or nonce it holds instead.
        span: The restored positions that another request wrote, first to last; None when all are right.
        owners: The requests that wrote them, most positions first.
        owner_tasks: Their tasks.
    """

    request: int
    round: int
    task: int
    text: str
    own: bool
    others: tuple[int, ...]
    span: tuple[int, int] | None
    owners: tuple[int, ...]
    owner_tasks: tuple[int, ...]

    @property
    def right(self) -> bool:
        """The features-and-nonce test: its own, and no other task's."""
        return self.own and not self.others


@dataclass(frozen=True, slots=True)
class Contamination:
    """One arm of experiment C.

    Attributes:
        policy: The choices it ran under.
        answers: Every call, in order.
        recording: The run, with what the checked twin of its tokens found.
    """

    policy: Policy
    answers: tuple[Answer, ...]
    recording: Recording

    @property
    def with_another_mark(self) -> tuple[Answer, ...]:
        """The answers that hold another task's feature or nonce."""
        return tuple(answer for answer in self.answers if answer.others)

    @property
    def wrong(self) -> tuple[Answer, ...]:
        """The answers that fail the features-and-nonce test."""
        return tuple(answer for answer in self.answers if not answer.right)

    def matrix(self) -> pl.DataFrame:
        """Return who got whose answer: a row for each task sent, a column for each task whose mark was given, counted in calls."""
        numbers = sorted({answer.task for answer in self.answers})
        got = Counter((answer.task, other) for answer in self.answers for other in (answer.others or ((answer.task,) if answer.own else ())))
        return pl.DataFrame([{"sent": task, **{f"got {other}": got[task, other] for other in numbers}} for task in numbers])

    def causes(self) -> pl.DataFrame:
        """Return a row for each wrong answer: the restored span that is not its own, and the requests and tasks whose bytes lie there."""
        rows = [
            {
                "request": answer.request,
                "task": answer.task,
                "answer": answer.text.strip(),
                "marks_of_tasks": list(answer.others),
                "start": answer.span[0] if answer.span else None,
                "end": answer.span[1] if answer.span else None,
                "bytes_of_requests": list(answer.owners),
                "bytes_of_tasks": list(answer.owner_tasks),
            }
            for answer in self.wrong
        ]
        return pl.DataFrame(rows) if rows else pl.DataFrame({"request": pl.Series([], dtype=pl.Int64)})

    def figures(self) -> dict[str, Any]:
        """Return the arm's counts: those of `counts`, and those of its answers."""
        return {
            **counts(self.recording, max(answer.task for answer in self.answers)),
            "wrong_answers": len(self.wrong),
            "answers_with_another_mark": len(self.with_another_mark),
            "wrong_answers_by_round": [sum(answer.round == turn and not answer.right for answer in self.answers) for turn in range(1, ROUNDS + 1)],
            "answers_with_another_mark_and_its_cause": sum(bool(set(answer.others) & set(answer.owner_tasks)) for answer in self.with_another_mark),
        }


def counts(recording: Recording, count: int = TASKS) -> dict[str, Any]:
    """Return how many calls restored positions that another request wrote, in all and by round of `count` calls, and which ones."""
    calls = recording.requests["request"].to_list()
    wrong = set(recording.rows(WrongPositions)["request"])
    rounds = [sum(call in wrong for call in calls[begin : begin + count]) for begin in range(0, len(calls), count)]
    return {
        "calls": len(calls),
        "calls_with_wrong_positions": len(wrong),
        "calls_with_wrong_positions_by_round": rounds,
        "requests_with_wrong_positions": sorted(wrong),
    }


def workload(lengths: str = "mixed", count: int = TASKS, rounds: int = ROUNDS) -> Workload:
    """Return C1, or its arm of equal lengths, with fewer tasks or rounds."""
    whole = named("C1" if lengths == "mixed" else f"C1:{lengths}")
    return dataclasses.replace(whole, requests=contamination_requests(count, rounds, lengths))


def policy(source: Source, version: str) -> Policy:
    """Return a release's rules as a run of `source` follows them."""
    return source.usual_policy.amended({"version": version})


def run(lab: Lab, version: str = FAULT_VERSION, lengths: str = "mixed", count: int = TASKS, rounds: int = ROUNDS) -> Contamination:
    """Send every task in every round to one long-lived runner."""
    return send(lab, tasks(lengths, count) * rounds, version, workload(lengths, count, rounds))


def send(lab: Lab, calls: Sequence[Task], version: str = FAULT_VERSION, work: Workload | None = None) -> Contamination:
    """Send tasks in any order to one long-lived runner; a call's round is how often its task was sent so far.

    Args:
        lab: The lab; its cache is emptied first.
        calls: The tasks, in order.
        version: The release's rules.
        work: The same calls as a workload; made of `calls` if None.
    """
    chosen = policy(lab, version)
    work = work or dataclasses.replace(named("C1"), requests=tuple(task.request() for task in calls))
    made = lab.run(work, chosen, store_text=True, progress=False)
    return Contamination(chosen, tuple(_judged(calls, made)), made)


def on_twin(version: str = FAULT_VERSION, lengths: str = "mixed", *, count: int = TASKS, rounds: int = ROUNDS, shape: str = "") -> Recording:
    """Send the same on span counts, with the word pieces of the prompts as tokens; no model is opened.

    Args:
        version: The release's rules.
        lengths: `mixed` or `equal`.
        count: Tasks.
        rounds: Rounds.
        shape: A shipped shape; "" for C1's own.
    """
    work = workload(lengths, count, rounds)
    return Twin(read_shape(shape or work.shape_name)).run(work, Policy.ollama(version), progress=False)


def dropped(lab: Lab, version: str = FAULT_VERSION, lengths: str = "mixed", count: int = TASKS) -> tuple[Answer, ...]:
    """Send every task once, each to an empty cache."""
    sent = tasks(lengths, count)
    found: list[Answer] = []
    for task in sent:
        recording = lab.run(Workload("one call", (task.request(),)), policy(lab, version), store_text=True, progress=False)
        found += [dataclasses.replace(one, request=task.number) for one in _judged((task,), recording, sent)]
    return tuple(found)


def _judged(calls: Sequence[Task], made: Recording, others: Sequence[Task] = ()) -> list[Answer]:
    wrong = made.rows(WrongPositions)
    found: list[Answer] = []
    for place, (task, text) in enumerate(zip(calls, made.requests["text"].to_list(), strict=True)):
        rows = wrong.filter(pl.col("request") == place + 1).select("start", "end", "belongs_to").rows()
        positions: Counter[int] = Counter()
        for start, end, owner in rows:
            positions[owner] += end - start
        owners = tuple(owner for owner, _ in positions.most_common())
        found.append(
            Answer(
                request=place + 1,
                round=calls[: place + 1].count(task),
                task=task.number,
                text=text,
                own=holds_all(text, (task.word, task.nonce)),
                others=tuple(
                    sorted({other.number for other in others or calls if other != task and (holds_all(text, (other.word,)) or holds_all(text, (other.nonce,)))})
                ),
                span=(min(row[0] for row in rows), max(row[1] for row in rows)) if rows else None,
                owners=owners,
                owner_tasks=tuple(calls[owner - 1].number for owner in owners),
            )
        )
    return found
