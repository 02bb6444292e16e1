"""Peaks of requests of different lengths: what a machine needs for a moment, where nothing else of it was read."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from kvlab.diagnose.finding import Number
from kvlab.recording import Recording
from kvlab.units import binary


@dataclass(frozen=True, slots=True)
class PeaksTold:
    """The lowest and the highest peak of a recording, in bytes, each with its request and its prompt tokens (None when not told)."""

    lowest: int
    lowest_tokens: int | None
    highest: int
    highest_tokens: int | None
    highest_request: int
    requests: int

    def words(self) -> str:
        """Return a sentence of them."""
        long, short = (f" at {tokens:,} prompt tokens" if tokens else "" for tokens in (self.highest_tokens, self.lowest_tokens))
        rise = f", from {binary(self.lowest)}{short}" if self.requests > 1 else ""
        return f"The highest peak told is {binary(self.highest)}{long} (request {self.highest_request}){rise}: a machine needs that much for a moment."

    def numbers(self) -> dict[str, Number]:
        """Return their figures."""
        return {
            "highest_peak_bytes": self.highest,
            "highest_peak_tokens": self.highest_tokens,
            "highest_peak_request": self.highest_request,
            "lowest_peak_bytes": self.lowest,
        }


def peaks_told(recording: Recording) -> PeaksTold | None:
    """Return the peaks of a recording's requests; None when none is told."""
    rows = recording.requests.filter(pl.col("peak").is_not_null()).sort("peak", "request").select("request", "tokens", "peak")
    if not rows.height:
        return None
    low, high = rows.row(0, named=True), rows.row(-1, named=True)
    return PeaksTold(low["peak"], low["tokens"], high["peak"], high["tokens"], high["request"], rows.height)
