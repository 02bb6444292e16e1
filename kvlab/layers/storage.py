"""Store: where a layer group's contents live. `mlx` holds the arrays of real mlx-lm cache objects, `spans` who wrote what.

The rules of a kind (kvlab/layers/kv.py) decide what happens; a store only holds, copies and puts back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from kvlab.shape import LayerGroup


class Store(Protocol):
    """What every store answers.

    Attributes:
        group: Kind, layers and prices.
    """

    group: LayerGroup

    @property
    def offset(self) -> int:
        """Tokens the live buffers hold."""
        ...

    @property
    def capacity(self) -> int:
        """Tokens the live buffers have room for."""
        ...

    @property
    def first(self) -> int:
        """The first position that a copy taken now holds by itself; the offset when it holds none."""
        ...

    def retained(self, data: Any) -> int:
        """Return the bytes of the buffers that a copy keeps alive."""
        ...

    def live_logical(self) -> int:
        """Return the bytes of the live contents, without slack."""
        ...

    def live_retained(self) -> int:
        """Return the bytes of the buffers that the live contents keep alive, as an allocator rounds them."""
        ...

    def live_resident(self) -> int:
        """Return the same by the shape's prices, which every storage knows."""
        ...

    def wrote(self, tokens: int) -> None:
        """Record that a forward wrote `tokens`, where the buffers do not count them themselves."""
        ...

    def drop(self) -> None:
        """Free the live buffers; the offset becomes 0."""
        ...


class KVStore(Store, Protocol):
    """The live buffers of full-attention layers: a slot a token."""

    @property
    def offset(self) -> int:
        """Tokens the live buffers hold; setting it lower rewinds, later slots stay until overwritten."""
        ...

    @offset.setter
    def offset(self, value: int) -> None: ...

    def shrink(self) -> None:
        """Cut the buffers to the offset, rounded up to a growth step."""
        ...

    def copy(self, start: int, end: int) -> Any:
        """Return an own copy of slots [start, end); it shares no buffer with anything."""
        ...

    def tokens(self, data: Any) -> int:
        """Return how many tokens an owned copy holds."""
        ...

    def put(self, data: Any) -> None:
        """Append an owned copy's contents at the offset, growing the buffer as a forward would."""
        ...

    def cut(self, data: Any, at: int, end: int) -> tuple[Any, Any]:
        """Cut an owned copy after `at` tokens into two own copies, of its first `end` tokens."""
        ...

    def join(self, first: Any, second: Any) -> Any:
        """Return an own copy of `first` followed by `second`."""
        ...


class StateStore(Store, Protocol):
    """The live state of recurrent or sliding-window layers: one whole state."""

    def copy(self) -> Any:
        """Return an own copy of the state; it shares no buffer with anything."""
        ...

    def copy_window(self, end: int) -> Any:
        """Return an own copy of the window that ends at `end`, of which the last forward of several tokens left all rows."""
        ...

    def narrow(self, end: int) -> None:
        """Make the window that ends at `end` the live one, without a copy: later rows are out of reach, their buffer stays."""
        ...

    @property
    def is_slice(self) -> bool:
        """The live state is a slice of the states of a speculative round."""
        ...

    @property
    def pinned(self) -> int:
        """Bytes beyond its own that the state as `hand_out` returns it keeps alive, by the shape's prices."""
        ...

    def detach(self) -> None:
        """Make the live state one of its own, no slice of a round's states."""
        ...

    def hand_out(self) -> Any:
        """Return the state as the model hands it out: perhaps a view of a bigger buffer."""
        ...

    def put(self, data: Any, offset: int) -> None:
        """Make a copy of `data` the live state; it has seen `offset` tokens."""
        ...

    def can_rewind(self, target: int) -> bool:
        """Whether the live state can go back to `target`."""
        ...

    def rewind(self, target: int) -> None:
        """Go back to `target`."""
        ...

    def shared(self, datas: Sequence[Any]) -> int:
        """Return the bytes that `datas` share with the live state or with each other."""
        ...

    def counted(self, data: Any) -> int:
        """Return the logical bytes of a copy."""
        ...
