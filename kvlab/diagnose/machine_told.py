"""What the system's own tools tell of a machine: the share that is free, swap in use and how it grew. What was not read is None."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from kvlab.recording import Recording
from kvlab.units import binary

LITTLE = 0.15
"""The share that is free, as `memory_pressure` tells it, at or below which a machine has little left."""


@dataclass(frozen=True, slots=True)
class MachineTold:
    """The system's figures.

    Attributes:
        free_share: The share that is free, as last told.
        free_share_first: As first told.
        swap_used: Bytes of swap in use, as last told.
        swap_grew: Bytes by which they grew; 0 when they did not, or were read once.
        swapped_out: Bytes that were swapped out meanwhile.
    """

    free_share: float | None
    free_share_first: float | None
    swap_used: int | None
    swap_grew: int
    swapped_out: int

    def words(self) -> str:
        """Return a sentence of what was read; "" when nothing was."""
        told: list[str] = []
        if self.free_share is not None:
            before = f" ({self.free_share_first:.0%} at first)".replace("%", " %") if self.free_share_first != self.free_share else ""
            told.append(f"{self.free_share:.0%}".replace("%", " %") + f" of the machine are free{before}")
        if self.swap_used is not None:
            grew = f", {binary(self.swap_grew)} more than at first" if self.swap_grew else ""
            told.append(f"{binary(self.swap_used)} of swap are in use{grew}")
        return f"The system tells: {'; '.join(told)}." if told else ""


def machine_told(recording: Recording) -> MachineTold:
    """Return the system's figures of a recording."""
    observed = recording.observed
    shares = observed.filter(pl.col("gauge") == "free_share").get_column("number").drop_nulls().to_list()
    used = observed.filter(pl.col("gauge") == "swap_used").get_column("value").drop_nulls().to_list()
    since = observed.filter(pl.col("gauge") == "swapped_out_since").unique("seq").get_column("value").drop_nulls()
    total = observed.filter(pl.col("gauge") == "swapped_out").get_column("value").drop_nulls()
    out = int(since.sum()) if len(since) else int(total[-1] - total[0]) if len(total) > 1 else 0
    grew = used[-1] - used[0] if len(used) > 1 else 0
    return MachineTold(shares[-1] if shares else None, shares[0] if shares else None, used[-1] if used else None, max(0, int(grew)), out)
