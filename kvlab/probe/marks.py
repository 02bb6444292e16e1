"""Marks: whether an answer is its own task's.

A task of `kvlab.workloads.contamination` has a mark that no other has; an answer that holds another's came from another prompt's state.
"""

from __future__ import annotations

import re

from kvlab.events import Event, Observed, Warned
from kvlab.recording.facts.answers import FOREIGN_MARKS, OWN_MARK
from kvlab.workloads import Request
from kvlab.workloads.contamination import nonce_in

"""Gauges: whether an answer holds its own mark, and how many of others."""


class Marks:
    """The marks of all tasks asked so far."""

    def __init__(self) -> None:
        self._asked: dict[str, int] = {}

    def asked(self, number: int, request: Request) -> None:
        """A request goes out."""
        mark = nonce_in(request.text)
        if mark is not None:
            self._asked[mark] = number

    def answered(self, number: int, answer: str) -> list[Event]:
        """Return what the answer to request `number` says of marks; nothing when it has none."""
        own = [mark for mark, asker in self._asked.items() if asker == number]
        if not own:
            return []
        foreign = [asker for mark, asker in self._asked.items() if asker != number and re.search(rf"\b{mark}\b", answer)]
        told: list[Event] = [
            Observed(gauge=OWN_MARK, number=float(own[0] in answer)),
            Observed(gauge=FOREIGN_MARKS, number=len(foreign)),
        ]
        if foreign:
            told.append(Warned(message=f"the answer holds the mark of request {foreign[-1]}"))
        return told
