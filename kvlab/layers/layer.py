"""Layer: the protocol of the rules of one layer group. `can_x` is a query and changes nothing; `x` acts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from kvlab.layers.snapshot import Snapshot
from kvlab.layers.storage import Store


class Layer(Protocol):
    """The rules of one group of layers over its live buffers."""

    @property
    def kind(self) -> str:
        """The layer kind (`kvlab.shape.KINDS`)."""
        ...

    @property
    def rewinds(self) -> bool:
        """Any offset up to the live one can be rewound to."""
        ...

    @property
    def store(self) -> Store:
        """The live buffers."""
        ...

    @property
    def lazies(self) -> Mapping[int, Snapshot]:
        """The snapshots that are still an index into the live buffers, by id."""
        ...

    @property
    def offset(self) -> int:
        """Tokens the live buffers hold."""
        ...

    @property
    def captures_inside(self) -> bool:
        """A capture can be taken at an offset that the last write went past; otherwise a forward must end there."""
        ...

    def will_write(self, tokens: int, first: int | None = None) -> None:
        """Get ready for a write of `tokens` at the offset; upstream's runner writes the first `first` at once when that differs."""
        ...

    def wrote(self, tokens: int) -> None:
        """Record that a forward wrote `tokens`."""
        ...

    def snapshot(self, start: int) -> Snapshot | None:
        """Return a snapshot of [start, offset); None when it would hold nothing."""
        ...

    def capture(self, start: int, end: int) -> Snapshot | None:
        """Return a snapshot of [start, end), where `end` is in the last write; None when it would hold nothing."""
        ...

    def can_restore(self, snapshot: Snapshot | None, target: int) -> bool:
        """Whether `restore` would bring the live buffers to `target`."""
        ...

    def restore(self, snapshot: Snapshot | None, target: int) -> bool:
        """Bring the live buffers to `target`, from `snapshot` or by rewinding; False, with nothing changed, when that cannot be."""
        ...

    def split(self, snapshot: Snapshot, at: int) -> tuple[Snapshot | None, Snapshot | None]:
        """Cut a snapshot at offset `at`."""
        ...

    def merge(self, first: Snapshot | None, second: Snapshot | None) -> Snapshot | None:
        """Join the snapshots of a node and of its only child, and close both."""
        ...

    def close(self, snapshot: Snapshot) -> None:
        """End a snapshot."""
        ...

    def shrink(self) -> None:
        """Give back the room beyond the offset."""
        ...

    def take_back(self, offset: int) -> None:
        """Undo a forward that began at `offset` and was interrupted, perhaps with some layers written and others not."""
        ...

    def shared(self) -> int:
        """Return the bytes that snapshots share with the live buffers or with each other."""
        ...

    def shared_resident(self) -> int:
        """Return the same by the shape's prices."""
        ...

    def free(self) -> None:
        """Let the live buffers go."""
        ...
