"""The numbers of a recording request by request, as arrays: what the questions about growth start from.

Invariant: only requests whose bytes were read at their close have a place; all arrays have the shape (requests,) and, unless
told otherwise, hold bytes. `counted` is of snapshots only; what a budget on resident bytes sees is `seen_by_budget`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from kvlab.diagnose.trend import Values
from kvlab.events import Evicted
from kvlab.recording import Recording


@dataclass(frozen=True, slots=True)
class Series:
    """Request by request.

    Attributes:
        request: The requests' numbers.
        counted: What the snapshots count: the column `paged_out`.
        live: Retained by the live buffers.
        snapshots: Retained by the snapshots.
        unattributed: active - retained of all owners; zeros when no allocator was read.
        retained: weights + live + snapshots.
        active: The allocator's count; retained when none was read.
        budget: The policy's budget.
        predicted_counted: Counted by the twin of the same requests; None without one.
        predicted_live: Live buffers of that twin; None without one.
        evicted_in: The requests in which something was evicted, in order.
        seen_by_budget: What the budget sees: counted, or what live buffers and snapshots retain when it counts resident bytes.
        counts_live: The budget counts resident bytes, the live buffers among them.
        from_twin: The recording is of the twin: its bytes are exact, nothing is noise.
    """

    request: Values
    counted: Values
    live: Values
    snapshots: Values
    unattributed: Values
    retained: Values
    active: Values
    budget: Values
    predicted_counted: Values | None
    predicted_live: Values | None
    evicted_in: tuple[int, ...]
    seen_by_budget: Values
    counts_live: bool
    from_twin: bool

    def __len__(self) -> int:
        return len(self.request)

    @property
    def unexplained(self) -> Values | None:
        """Bytes above the weights that were held, less those a lawful cache holds; None when that is not known.

        A run of the twin without its lawful twin beside it still knows what its snapshots retain but do not count.
        """
        if self.predicted_counted is None or self.predicted_live is None:
            return self.snapshots - self.counted if self.from_twin else None
        return self.live + self.snapshots + self.unattributed - self.predicted_counted - self.predicted_live


def series(recording: Recording) -> Series:
    """Return a recording's numbers request by request."""
    rows = recording.requests.filter(pl.col("counted").is_not_null() & pl.col("retained").is_not_null())
    predicted = bool(rows.height) and not rows.get_column("predicted_counted").is_null().any()
    predicted_live = _values(rows, "predicted_live") if predicted else None
    predicted_counted = _values(rows, "predicted_paged_out") if predicted else None
    return Series(
        request=_values(rows, "request"),
        counted=_values(rows, "paged_out"),
        live=_values(rows, "live"),
        snapshots=_values(rows, "snapshots"),
        unattributed=_values(rows.with_columns(pl.col("unattributed").fill_null(0)), "unattributed"),
        retained=_values(rows, "retained"),
        active=_values(rows.with_columns(pl.coalesce("active", "retained").alias("active")), "active"),
        budget=_values(rows, "budget"),
        predicted_counted=predicted_counted,
        predicted_live=predicted_live,
        evicted_in=evicted_in(recording),
        seen_by_budget=_values(rows, "counted"),
        counts_live=recording.manifest.policy.get("budget_counts") == "resident",
        from_twin=recording.manifest.source == "twin",
    )


def _values(rows: pl.DataFrame, name: str) -> Values:
    return rows.get_column(name).cast(pl.Float64).to_numpy().astype(np.float64)


def evicted_in(recording: Recording) -> tuple[int, ...]:
    """Return the requests in which something was evicted, in order."""
    requests = recording.events.filter(pl.col("kind") == Evicted.kind).get_column("request")
    return tuple(int(request) for request in requests.unique().sort())
