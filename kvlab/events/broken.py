"""Events of what must not happen: a wrong position restored, an invariant that does not hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kvlab.events.base import Event


@dataclass(slots=True)
class WrongPositions(Event):
    """Restored positions [start, end) of layer group `group` hold what request `belongs_to` wrote there."""

    kind: ClassVar[str] = "wrong_positions"
    group: int = 0
    layer: str = ""
    start: int = 0
    end: int = 0
    belongs_to: int = 0


@dataclass(slots=True)
class Violation(Event):
    """An invariant does not hold: the `rule`'s id, and which values broke it."""

    kind: ClassVar[str] = "violation"
    rule: str = ""
    message: str = ""
