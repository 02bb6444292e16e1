"""What the `mlx` storages of layers with rows a token have in common: mlx-lm's cache objects keep their own offset, and arrays of rows."""

# pyright: standard
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

import mlx.core as mx

from kvlab.layers.mlx_rows import rows_of
from kvlab.shape import LayerGroup


class OffsetStore:
    """The live buffers of `caches`, which all rest at one offset.

    Attributes:
        group: Kind, layers and prices.
        caches: The mlx-lm objects, one a layer.
    """

    __slots__ = ("caches", "group")

    def __init__(self, group: LayerGroup, caches: Sequence[Any]) -> None:
        self.group = group
        self.caches = list(caches)

    @property
    def offset(self) -> int:
        """Tokens that every layer has seen."""
        return min(cache.offset for cache in self.caches)

    @property
    def capacity(self) -> int:
        """Rows the live buffers have room for."""
        rows = rows_of(self.caches[0])
        return int(rows[0].shape[-2]) if rows else 0

    @property
    def first(self) -> int:
        """The first position held: rows are dropped nowhere but at the end."""
        return 0

    def wrote(self, tokens: int) -> None:
        """The cache objects keep their own offset."""

    def live_retained(self) -> int:
        """Return the bytes of the buffers that the live contents keep alive."""
        return int(mx.get_array_buffer_size([rows_of(cache) for cache in self.caches]))

    def live_resident(self) -> int:
        """Return the bytes of the rows that the live buffers have room for."""
        return self.capacity * self.group.bytes_per_token


class Rows(Protocol):
    """A copy of one layer's window: keys and values [1, heads, rows, dim], and what a kind of window needs besides."""

    @property
    def keys(self) -> mx.array:
        """The keys."""
        ...

    @property
    def values(self) -> mx.array:
        """The values."""
        ...


Copied = TypeVar("Copied", bound=Rows)


class WindowStore(OffsetStore, ABC, Generic[Copied]):
    """The live windows of `caches`, whose copies are one `Copied` a layer; attributes as in `OffsetStore`."""

    __slots__ = ()

    is_slice = False
    """A window is no slice of others."""

    pinned = 0
    """A window is handed out as a copy."""

    @abstractmethod
    def copy(self) -> list[Copied]:
        """Return an own copy of every layer's rows, evaluated."""

    def detach(self) -> None:
        """The live windows are always ones of their own."""

    def hand_out(self) -> list[Copied]:
        """Return a copy: mlx-lm hands out no view of a window."""
        return self.copy()

    def counted(self, data: list[Copied]) -> int:
        """Return the logical bytes of a copy."""
        return sum(one.keys.nbytes + one.values.nbytes for one in data)

    def retained(self, data: list[Copied]) -> int:
        """Return the bytes of the buffers a copy keeps alive."""
        return int(mx.get_array_buffer_size([(one.keys, one.values) for one in data]))

    def shared(self, datas: Sequence[list[Copied]]) -> int:
        """Windows are copied: nothing is shared."""
        del datas
        return 0
