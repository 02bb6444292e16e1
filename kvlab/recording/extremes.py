"""The largest and the smallest number of a column, typed as numbers, which polars' own are not."""

from __future__ import annotations

from typing import Any

import polars as pl


def largest(values: pl.Series) -> float:
    """Return the largest of some numbers; 0 when there is none."""
    value: Any = values.max()
    return float(value or 0)


def smallest(values: pl.Series) -> float:
    """Return the smallest of some numbers; 0 when there is none."""
    value: Any = values.min()
    return float(value or 0)
