"""Marks: whether an answer is its own task's.

A task of `kvlab.workloads.contamination` has a mark that no other has; an answer that holds another's came from another prompt's state.
"""

from __future__ import annotations

import re

from kvlab.events import Event, Observed, Warned
from kvlab.workloads import Request

_MARK = re.compile(r"\bMark ([B-DF-HJ-NP-T]{4})\.")


class Marks:
    """The marks of all tasks asked so far."""

    def __init__(self) -> None:
        self._asked: dict[str, int] = {}

    def asked(self, number: int, request: Request) -> None:
        """A request goes out."""
        found = _MARK.search(request.text)
        if found is not None:
            self._asked[found[1]] = number

    def answered(self, number: int, answer: str) -> list[Event]:
        """Return what the answer to request `number` says of marks; nothing when it has none."""
        own = [mark for mark, asker in self._asked.items() if asker == number]
        if not own:
            return []
        foreign = [asker for mark, asker in self._asked.items() if asker != number and re.search(rf"\b{mark}\b", answer)]
        told: list[Event] = [
            Observed(gauge="own_mark", number=float(own[0] in answer)),
            Observed(gauge="foreign_marks", number=len(foreign)),
        ]
        if foreign:
            told.append(Warned(message=f"the answer holds the mark of request {foreign[-1]}"))
        return told
