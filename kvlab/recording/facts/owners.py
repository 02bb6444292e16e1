"""Owners: the bytes of the cache's own owners request by request, as arrays.

Invariant: only requests whose counted bytes were read at their close have a place; all arrays have the shape (requests,) and hold bytes, except
`request`. What was not recorded is None.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

Values = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Owners:
    """Request by request.

    Attributes:
        request: The requests' numbers.
        counted: What the snapshots count: the column `paged_out`.
        seen_by_budget: What the budget sees: counted, or what live buffers and snapshots retain when it counts resident bytes.
        budget: The policy's budget.
        live: Retained by the live buffers.
        snapshots: Retained by the snapshots.
        retained: weights + live + snapshots.
        active: The allocator's count; retained when none was read.
        unattributed: active - retained of all owners; zeros when no allocator was read.
        predicted_counted: Counted by the twin that ran with it.
        predicted_live: Live buffers of that twin.
        evicted_in: The requests in which the budget evicted something, in order.
        limited_in: The requests in which the limit of entries did.
        counts_live: The budget counts resident bytes, the live buffers among them.
        exact: The bytes are a twin's: nothing is noise.
        arm: The arm of a table that compares several; "" for the only one.
    """

    request: Values
    counted: Values
    seen_by_budget: Values
    budget: Values
    live: Values | None = None
    snapshots: Values | None = None
    retained: Values | None = None
    active: Values | None = None
    unattributed: Values | None = None
    predicted_counted: Values | None = None
    predicted_live: Values | None = None
    evicted_in: tuple[int, ...] = ()
    limited_in: tuple[int, ...] = ()
    counts_live: bool = False
    exact: bool = False
    arm: str = ""

    def __len__(self) -> int:
        return len(self.request)

    @property
    def pinned(self) -> Values | None:
        """Bytes that snapshots retain and do not count; None when that was not recorded."""
        return None if self.snapshots is None else self.snapshots - self.counted + self._counted_twice(self.snapshots)

    def _counted_twice(self, snapshots: Values) -> Values | float:
        # snapshots of a hidden-state cache, which a twin alone has, each count the array that they share
        return np.maximum(0, self.counted - snapshots) if self.exact else 0.0

    @property
    def weights(self) -> Values | None:
        """Retained by the weights."""
        return None if self.retained is None or self.live is None or self.snapshots is None else self.retained - self.live - self.snapshots

    @property
    def unexplained(self) -> Values | None:
        """Bytes above the weights that were held, less those that the twin of the same requests holds; None when that is not known.

        A run of the twin without another one still knows what its snapshots retain but do not count.
        """
        if self.live is None or self.snapshots is None or self.unattributed is None:
            return None
        if self.predicted_counted is None or self.predicted_live is None:
            return self.pinned if self.exact else None
        held = self.live + self.snapshots + self.unattributed + self._counted_twice(self.snapshots)
        return held - self.predicted_counted - self.predicted_live


def owners_of(requests: pl.DataFrame, evicted_in: tuple[int, ...], limited_in: tuple[int, ...], *, counts_live: bool, exact: bool) -> Owners:
    """Return the bytes of a table `requests`, of the requests for which all owners were read."""
    rows = requests.filter(pl.col("counted").is_not_null() & pl.col("retained").is_not_null())
    predicted = bool(rows.height) and not rows.get_column("predicted_counted").is_null().any()
    filled = rows.with_columns(pl.col("unattributed").fill_null(0), pl.coalesce("active", "retained").alias("active"))
    return Owners(
        request=values(rows, "request"),
        counted=values(rows, "paged_out"),
        seen_by_budget=values(rows, "counted"),
        budget=values(rows, "budget"),
        live=values(rows, "live"),
        snapshots=values(rows, "snapshots"),
        retained=values(rows, "retained"),
        active=values(filled, "active"),
        unattributed=values(filled, "unattributed"),
        predicted_counted=values(rows, "predicted_paged_out") if predicted else None,
        predicted_live=values(rows, "predicted_live") if predicted else None,
        evicted_in=evicted_in,
        limited_in=limited_in,
        counts_live=counts_live,
        exact=exact,
    )


def counted_of(requests: pl.DataFrame, observed: pl.DataFrame, evicted_in: tuple[int, ...], budget: float) -> tuple[Owners, ...]:
    """Return what the cache counts where nothing else of its owners was read, one for each arm of a table (before and after a change)."""
    read = requests.filter(pl.col("counted").is_not_null()).select("request", pl.col("counted").alias("value"))
    arms = {"": read}
    if not read.height:
        recorded = observed.filter((pl.col("gauge") == "paged_out") & pl.col("value").is_not_null() & (pl.col("request") > 0))
        names: list[str] = recorded.get_column("label").unique(maintain_order=True).to_list()
        arms = {name: recorded.filter(pl.col("label") == name).unique("request", keep="last").sort("request") for name in names}
    made: list[Owners] = []
    for name, rows in arms.items():
        counted = values(rows, "value")
        made.append(Owners(values(rows, "request"), counted, counted, np.full(len(counted), float(budget)), evicted_in=evicted_in, arm=name))
    return tuple(made)


def values(rows: pl.DataFrame, name: str) -> Values:
    """Return a column as an array of numbers."""
    return rows.get_column(name).cast(pl.Float64).to_numpy().astype(np.float64)
