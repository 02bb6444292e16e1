"""Experiment C: tasks with a shared beginning, asked round after round of a long-lived runner. Who gets whose answer, and why.

Behaviours 0.32.5 and 0.32.7 differ in one choice (`copy_before_overwrite`). The size of the context is a label here: nothing in the
runner depends on it. A wrong answer's cause is read from the twin of the same tokens: which restored span holds whose bytes.

Why prompts of equal length do it too here: a write's first piece copies out every lazy snapshot that it touches, whole. With one capture
shortly before the end a prompt that resumes at the shared beginning writes up to there in one piece, so the whole of its predecessor is
saved, and only the last tokens and the reply, where all prompts read alike, are lost. Every cut further left (a capture's grid, a chunk's
end, a recurrent layer's branch point) ends that first piece early, and what lies behind it is overwritten unsaved.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from kvlab.lab import Twin
from kvlab.lab.beside_twin import run_beside_twin
from kvlab.lab.shapes import read_shape
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.workloads import Workload
from kvlab.workloads.contamination import ROUNDS, Task, tasks

if TYPE_CHECKING:
    from kvlab.lab.lab import Lab

GRID = 64
"""Captures every so many tokens, in both arms: a small model's prompts are short, and the shared beginning ends shortly before one of them."""

CHUNK = 128
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
        span: The restored positions that hold another request's bytes, first to last; None when all are right.
        owners: The requests whose bytes lie there, most positions first.
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
        """The features-and-nonce test: its own, and nobody else's."""
        return self.own and not self.others


@dataclass(frozen=True, slots=True)
class Contamination:
    """One arm of experiment C.

    Attributes:
        policy: The choices it ran under.
        lengths: `mixed` or `equal`.
        answers: Every call, in order.
        recording: The run.
        twin: The twin of it, checked.
    """

    policy: Policy
    lengths: str
    answers: tuple[Answer, ...]
    recording: Recording
    twin: Recording

    @property
    def with_another_mark(self) -> tuple[Answer, ...]:
        """The answers that hold another task's feature or nonce."""
        return tuple(answer for answer in self.answers if answer.others)

    @property
    def wrong(self) -> tuple[Answer, ...]:
        """The answers that fail the features-and-nonce test."""
        return tuple(answer for answer in self.answers if not answer.right)

    def matrix(self) -> pl.DataFrame:
        """Return who got whose answer: a row for each asked task, a column for each task whose mark was given, counted in calls."""
        numbers = sorted({answer.task for answer in self.answers})
        got = Counter((answer.task, other) for answer in self.answers for other in (answer.others or ((answer.task,) if answer.own else ())))
        return pl.DataFrame([{"asked": task, **{f"got {other}": got[task, other] for other in numbers}} for task in numbers])

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
        """Return the arm's counts."""
        return {
            "calls": len(self.answers),
            "wrong_answers": len(self.wrong),
            "answers_with_another_mark": len(self.with_another_mark),
            "wrong_answers_by_round": [sum(answer.round == turn and not answer.right for answer in self.answers) for turn in range(1, ROUNDS + 1)],
            "answers_with_another_mark_and_its_cause": sum(bool(set(answer.others) & set(answer.owner_tasks)) for answer in self.with_another_mark),
        }


def policy(version: str) -> Policy:
    """Return a release's behaviour with captures and chunks that suit short prompts; two versions differ as the releases do."""
    return Policy.ollama(version).replace(capture_grid=GRID, prefill_chunk=CHUNK)


def run(lab: Lab, version: str = FAULT_VERSION, lengths: str = "mixed", count: int = 16, rounds: int = ROUNDS) -> Contamination:
    """Ask every task in every round of one long-lived runner."""
    asked = tasks(lengths, count)
    chosen = policy(version)
    work = _rounds(asked, lengths, rounds)
    real, twin = run_beside_twin(lab, work, chosen)
    return Contamination(chosen, lengths, tuple(_judged(asked, real, twin)), real, twin)


def on_twin(version: str = FAULT_VERSION, lengths: str = "mixed", *, count: int = 16, rounds: int = ROUNDS, grid: int = GRID, context: int = 0) -> Recording:
    """Ask the same on span counts, checked, with the word pieces of the prompts as tokens; no model is opened.

    Args:
        version: The release's behaviour.
        lengths: `mixed` or `equal`.
        count: Tasks.
        rounds: Rounds.
        grid: Captures every so many tokens; upstream's is 8192.
        context: The size of the context that the shape names; 0 for its own.
    """
    asked = tasks(lengths, count)
    work = _rounds(asked, lengths, rounds)
    shape = read_shape("smollm2")
    twin = Twin(dataclasses.replace(shape, context=context or shape.context))
    return twin.run(work, policy(version).replace(capture_grid=grid), check=True, progress=False)


def dropped(lab: Lab, version: str = FAULT_VERSION, lengths: str = "mixed", count: int = 16, rounds: int = ROUNDS) -> tuple[Answer, ...]:
    """Ask the same with the cache dropped after each call."""
    asked = tasks(lengths, count)
    found: list[Answer] = []
    for turn in range(rounds):
        for task in asked:
            recording = lab.run(Workload("one call", (task.request,)), policy(version), store_text=True, progress=False)
            text = str(recording.requests.item(0, "text"))
            found.append(Answer(len(found) + 1, turn + 1, task.number, text, task.is_in(text), _others(task, asked, text), None, (), ()))
    return tuple(found)


def _rounds(asked: Sequence[Task], lengths: str, rounds: int) -> Workload:
    return Workload(f"C {lengths} {len(asked)}x{rounds}", tuple(task.request for _ in range(rounds) for task in asked))


def _judged(asked: Sequence[Task], real: Recording, twin: Recording) -> list[Answer]:
    wrong = twin.events.filter(pl.col("kind") == "wrong_positions")
    found: list[Answer] = []
    for place, text in enumerate(real.requests["text"].to_list()):
        turn, index = divmod(place, len(asked))
        task = asked[index]
        rows = wrong.filter(pl.col("request") == place + 1).select("start", "end", "belongs_to").rows()
        positions: Counter[int] = Counter()
        for start, end, owner in rows:
            positions[owner] += end - start
        owners = tuple(owner for owner, _ in positions.most_common())
        span = (min(row[0] for row in rows), max(row[1] for row in rows)) if rows else None
        found.append(
            Answer(
                place + 1,
                turn + 1,
                task.number,
                text,
                task.is_in(text),
                _others(task, asked, text),
                span,
                owners,
                tuple(asked[(owner - 1) % len(asked)].number for owner in owners),
            )
        )
    return found


def _others(task: Task, asked: Sequence[Task], text: str) -> tuple[int, ...]:
    return tuple(other.number for other in asked if other is not task and other.is_hinted_in(text))
