"""Scope: the lifetime of arrays. What a scope holds is released when it ends, and using it later is an error that names the scope.

Two kinds, by use: a held scope has the lifetime of its owner (a snapshot), a function scope that of a `with` block (a merge), from which
results leave only by `keep`. Under `lifetimes=sweep` a consumed input's scope ends at the next sweep instead.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from kvlab.errors import KvlabError

T = TypeVar("T")


class ScopeEnded(KvlabError):
    """An array was used after the scope that held it had ended: a defect of the caller."""


class Held(Generic[T]):
    """A value that a scope holds."""

    __slots__ = ("_scope", "_value")

    def __init__(self, scope: Scope, value: T) -> None:
        self._scope = scope
        self._value: T | None = value

    @property
    def value(self) -> T:
        """The value.

        Raises:
            ScopeEnded: its scope has ended.
        """
        if self._value is None:
            raise ScopeEnded(
                what=f"an array of the scope {self._scope.name!r} was used after it had ended",
                why="a scope lets its arrays go when it ends",
                hint="keep what outlives the scope with scope.keep(...) before it ends",
            )
        return self._value

    def drop(self) -> None:
        """Let the value go."""
        self._value = None


class Scope:
    """Holds values until it ends.

    Attributes:
        name: What errors call it.
        ended: It has ended.
    """

    __slots__ = ("_held", "ended", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self.ended = False
        self._held: list[Held[Any]] = []

    def hold(self, value: T) -> Held[T]:
        """Hold `value` until the scope ends."""
        held = Held(self, value)
        self._held.append(held)
        return held

    def keep(self, held: Held[T]) -> T:
        """Take a value out of the scope: it outlives it."""
        value = held.value
        held.drop()
        self._held.remove(held)
        return value

    def end(self) -> None:
        """Release everything held."""
        for held in self._held:
            held.drop()
        self._held.clear()
        self.ended = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.end()
