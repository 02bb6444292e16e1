"""Meter: reads an allocator. The real one reads MLX's counters; the twin's adds up the bytes that the rules give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol


@dataclass(slots=True)
class Reading:
    """The allocator's own counts, in bytes: in use (`active`), free buffers (`pool`), highest `active` since the last reset (`peak`)."""

    active: int
    pool: int
    peak: int


class Meter(Protocol):
    """An allocator's counters.

    Attributes:
        measures: It reads an allocator; if not, it adds up what the owners retain, and nothing can be unattributed.
    """

    measures: bool

    def read(self, retained: int = 0) -> Reading:
        """Return the counters now; `retained` is what all owners retain together, which is all that a twin's allocator has in use."""
        ...

    def weights(self) -> int:
        """Return the bytes that the weights' buffers retain."""
        ...

    def reset_peak(self) -> None:
        """Begin a new peak at the bytes now active."""
        ...

    def footprint(self) -> int | None:
        """Return the bytes that the system charges the whole process with; None where it does not report them. It may take some milliseconds."""
        ...

    def clear_pool(self) -> int:
        """Give the free buffers back to the system; return how many bytes that were."""
        ...
