"""Timing of one request: when its prompt was evaluated, when its first and its last token came.

Invariant: the time that a reader of the events takes between two of them is not counted, so stepping by hand changes no figure.
"""

from __future__ import annotations

import time


class Timing:
    """Seconds of one request, from the moment this object is made.

    Attributes:
        prefill_s: Until all prompt tokens but the last were evaluated.
        ttft_s: Until the first new token; 0 when there was none.
        decode_s: From the first new token to the end.
    """

    __slots__ = ("_away", "_first", "_left", "_start", "decode_s", "prefill_s", "ttft_s")

    def __init__(self) -> None:
        self._start = self._left = time.perf_counter()
        self._away = 0.0
        self._first = 0.0
        self.prefill_s = 0.0
        self.ttft_s = 0.0
        self.decode_s = 0.0

    def leave(self) -> None:
        """Events are handed over from now on."""
        self._left = time.perf_counter()

    def come_back(self) -> None:
        """The reader continues."""
        self._away += time.perf_counter() - self._left

    def prefilled(self) -> None:
        """The prompt is evaluated, all but its last token."""
        self.prefill_s = self._now()

    def produced(self) -> None:
        """A token came."""
        if not self._first:
            self._first = self.ttft_s = self._now()

    def ended(self) -> None:
        """No more tokens will come."""
        if self._first:
            self.decode_s = self._now() - self._first

    def _now(self) -> float:
        return time.perf_counter() - self._start - self._away
