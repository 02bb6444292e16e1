"""What MLX's allocator rounds up: snapshots may retain more than they count without anything being wrong."""

from __future__ import annotations

import numpy as np

from kvlab.recording.facts import Facts, Owners, Values
from kvlab.units import KIB, binary

LEAST_REQUESTS = 3
"""Fewer requests have no trend."""

LEAST_SLOPE = 4 * KIB
"""Unexplained bytes per request that a real run may gain: small objects that no owner names."""

ROUNDING = {"cpu": 0.1, "gpu": 1.0}
"""What snapshots may retain above what they count, as a share of it, by the model's device. MLX takes a free buffer of up to twice the size
needed, and on a GPU rounds large ones up to a page; on a CPU 0.005 was measured."""


def beyond_rounding(facts: Facts, data: Owners, values: Values) -> Values:
    """Return unexplained or pinned bytes less what the allocator's rounding of snapshots may be; a twin is exact."""
    if data.exact or data.pinned is None:
        return values
    share = ROUNDING.get(facts.device, max(ROUNDING.values()))
    return values - np.clip(data.pinned, 0, share * data.counted)


def growth_words(name: str, total: float, beyond: float, slope: float, requests: int) -> str:
    """Return in words how bytes of `name` grow: all of them, what the allocator's rounding may be of that, and the slope of the rest."""
    if round(total) == round(beyond):
        return f"{name} bytes grow by {binary(slope)} per request, to {binary(total)} after {requests} requests"
    return (
        f"{name} bytes grow to {binary(total)} after {requests} requests; up to {binary(total - beyond)} of them may be the allocator's rounding of "
        f"snapshots, the other {binary(beyond)} grow by {binary(slope)} per request"
    )
