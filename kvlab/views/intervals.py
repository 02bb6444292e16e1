"""Rows as intervals: what stays the same over several moments is sent to a chart once, with `born` and `died`.

A chart then shows a moment by a filter on one parameter (`alive`) and is never sent again.
"""

from __future__ import annotations

ROWS = 2500
"""A chart takes at most this many intervals, the latest."""

FAR = 2**53
"""`died` of what is alive at the last moment: JavaScript's largest exact whole number."""


def alive(parameter: str) -> str:
    """Return the Vega filter for what exists at the moment that `parameter` holds."""
    return f"datum.born <= {parameter} && {parameter} < datum.died"
