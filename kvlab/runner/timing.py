"""Timing of one request: when its prompt was evaluated, when its first and its last token came."""

from __future__ import annotations

import time


class Timing:
    """Seconds of one request, from the moment this object is made.

    Attributes:
        prefill_s: Until all prompt tokens but the last were evaluated.
        ttft_s: Until the first new token; 0 when there was none.
        decode_s: From the first new token to the last.
    """

    __slots__ = ("_first", "_start", "decode_s", "prefill_s", "ttft_s")

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._first = 0.0
        self.prefill_s = 0.0
        self.ttft_s = 0.0
        self.decode_s = 0.0

    def prefilled(self) -> None:
        """The prompt is evaluated, all but its last token."""
        self.prefill_s = time.perf_counter() - self._start

    def produced(self) -> None:
        """A token came."""
        if not self._first:
            self._first = time.perf_counter()
            self.ttft_s = self._first - self._start

    def ended(self) -> None:
        """No more tokens will come."""
        if self._first:
            self.decode_s = time.perf_counter() - self._first
