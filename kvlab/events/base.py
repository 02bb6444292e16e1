"""What all events have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(slots=True)
class Event:
    """What all events have: `seq` (place in the log), `t` (seconds since the log began), `request` and `source`."""

    kind: ClassVar[str] = ""
    seq: int = -1
    t: float = 0.0
    request: int = 0
    source: str = ""
