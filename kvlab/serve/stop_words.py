"""Stop words: text that ends a reply. What may be the beginning of one is held back until it is known; the word itself is never part of the answer."""

from __future__ import annotations

from collections.abc import Sequence


class StopWords:
    """Follows one reply.

    Args:
        words: The texts that end it.

    Attributes:
        found: One of them came.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self._words = [word for word in words if word]
        self._held = ""
        self.found = False

    def add(self, text: str) -> str:
        """Return what of the reply so far belongs to the answer and was not returned yet."""
        if self.found:
            return ""
        self._held += text
        ends = [place for word in self._words if (place := self._held.find(word)) >= 0]
        if ends:
            self.found = True
            return self._held[: min(ends)]
        keep = max((size for word in self._words for size in range(1, len(word)) if self._held.endswith(word[:size])), default=0)
        known, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
        return known

    def finish(self) -> str:
        """Return what was held back: no stop word came."""
        held, self._held = self._held, ""
        return "" if self.found else held
