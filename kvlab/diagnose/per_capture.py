"""Per capture: what a snapshot of a recurrent layer counts of its convolution's input, and how much buffer it keeps alive as a view."""

from __future__ import annotations

import polars as pl

from kvlab.diagnose.finding import Number
from kvlab.recording import Recording

CONV_ROWS = 3
"""Rows of a convolution's input that its state is: one less than its kernel of four (every model of that kind so far)."""


def per_capture(recording: Recording) -> dict[str, Number]:
    """Return `captures`, `counted_per_capture_bytes` and `pinned_per_capture_bytes`, of the view that keeps most; nothing where there is no view."""
    groups = recording.shape.groups if recording.shape is not None else ()
    row = sum(group.conv_bytes_per_token for group in groups)
    views = recording.spans.filter((pl.col("state") == "view") & pl.col("node").is_not_null()).unique("snapshot")
    if views.is_empty() or not row:
        return {}
    kept = max(retained - counted for retained, counted in views.select("retained", "counted").iter_rows())
    return {"captures": views.height, "counted_per_capture_bytes": CONV_ROWS * row, "pinned_per_capture_bytes": kept + CONV_ROWS * row}
