"""Marks: words that an answer must hold and that no other request's answer may hold (`Request.marks`).

An answer with another's mark came from another prompt's state. One that lacks its own may have forgotten it.
"""

from __future__ import annotations

import re

from kvlab.events import Event, Observed, Warned
from kvlab.recording.facts.answers import FOREIGN_MARKS, OWN_MARK
from kvlab.workloads.request import Request


class Marks:
    """The marks of all requests sent so far."""

    def __init__(self) -> None:
        self._sent: dict[tuple[str, ...], int] = {}

    def sent(self, number: int, request: Request) -> None:
        """A request goes out. One with the same mark takes the place of an earlier one."""
        if request.marks:
            self._sent[request.marks] = number

    def answered(self, request: Request, answer: str) -> list[Event]:
        """Return what the answer to a request says of marks; nothing when it has none."""
        if not request.marks:
            return []
        foreign = self.foreign(request, answer)
        found: list[Event] = [
            Observed(gauge=OWN_MARK, number=float(holds_all(answer, request.marks))),
            Observed(gauge=FOREIGN_MARKS, number=len(foreign)),
        ]
        if foreign:
            found.append(Warned(message=f"the answer holds the mark of request {foreign[-1]}"))
        return found

    def foreign(self, request: Request, answer: str) -> list[int]:
        """Return the requests of whose marks an answer holds a part that its own mark does not have, the last ones to send them."""
        own = set(request.marks)
        return [number for marks, number in self._sent.items() if any(_holds(answer, word) for word in marks if word not in own)]


def holds_all(answer: str, marks: tuple[str, ...]) -> bool:
    """Whether an answer holds every word of a mark."""
    return all(_holds(answer, word) for word in marks)


def _holds(answer: str, word: str) -> bool:
    return re.search(rf"\b{re.escape(word)}\b", answer, re.IGNORECASE) is not None
