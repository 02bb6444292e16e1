"""Known: a value, and how well it is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

T = TypeVar("T")

How = Literal["known", "assumed", "unknown"]


@dataclass(frozen=True, slots=True)
class Known(Generic[T]):
    """A value that was recorded or given (`known`), follows from something else (`assumed`), or is only a default (`unknown`).

    Attributes:
        value: The value; of an unknown one the default that a reader may still compute with.
        how: How well it is known.
        by: What says so, in words: `the recording`, `given`, `the model's name`, `Ollama's default`.
    """

    value: T
    how: How
    by: str = ""

    @property
    def is_known(self) -> bool:
        """Whether it was recorded or given."""
        return self.how == "known"
