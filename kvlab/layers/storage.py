"""Store: where a layer group's contents live. `mlx` holds the arrays of real mlx-lm cache objects, `spans` who wrote what.

The rules of a kind (kvlab/layers/kv.py) decide what happens; a store only holds, copies and puts back.
"""

from __future__ import annotations

from typing import Any, Protocol

from kvlab.shape import LayerGroup


class Store(Protocol):
    """The live buffers of one layer group.

    Attributes:
        group: Kind, layers and prices.
        offset: Tokens the live buffers hold; setting it lower rewinds, later slots stay until overwritten.
        capacity: Tokens the live buffers have room for.
    """

    group: LayerGroup

    @property
    def offset(self) -> int:
        """Tokens the live buffers hold."""
        ...

    @offset.setter
    def offset(self, value: int) -> None: ...

    @property
    def capacity(self) -> int:
        """Tokens the live buffers have room for."""
        ...

    def copy(self, start: int, end: int) -> Any:
        """Return an own copy of slots [start, end); it shares no buffer with anything."""
        ...

    def put(self, data: Any) -> None:
        """Append an owned copy's contents at the offset, growing the buffer as a forward would."""
        ...

    def cut(self, data: Any, at: int) -> tuple[Any, Any]:
        """Cut an owned copy after `at` tokens into two own copies."""
        ...

    def join(self, first: Any, second: Any) -> Any:
        """Return an own copy of `first` followed by `second`."""
        ...

    def retained(self, data: Any) -> int:
        """Return the bytes of the buffers that an owned copy keeps alive."""
        ...

    def live_retained(self) -> int:
        """Return the bytes of the buffers that the live contents keep alive."""
        ...

    def drop(self) -> None:
        """Let the live buffers go; the offset becomes 0."""
        ...
