"""MLXMeter: reads MLX's allocator.

Invariants: the weights are held as one flat list, so asking for their bytes costs microseconds; `peak` is never below
`active` (right after a reset MLX reports a peak that is too low until something is allocated).
"""

# pyright: standard
from __future__ import annotations

from typing import TYPE_CHECKING

from kvlab.allocator.meter import Reading
from kvlab.allocator.process_bytes import own_footprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    import mlx.core as mx


class MLXMeter:
    """The counters of MLX's allocator, and the bytes of one model's weights.

    Args:
        parameters: The weights' arrays, evaluated.
    """

    __slots__ = ("_mx", "_parameters", "measures")

    def __init__(self, parameters: Sequence[mx.array]) -> None:
        import mlx.core as mx

        self.measures = True
        self._mx = mx
        self._parameters = list(parameters)

    def read(self) -> Reading:
        """Return the allocator's bytes in use, in the pool, and at the peak."""
        active = self._mx.get_active_memory()
        return Reading(active=active, pool=self._mx.get_cache_memory(), peak=max(self._mx.get_peak_memory(), active))

    def weights(self) -> int:
        """Return the bytes of the buffers that the weights keep alive, each buffer once."""
        return int(self._mx.get_array_buffer_size(self._parameters))

    def reset_peak(self) -> None:
        """Begin a new peak at the bytes now active."""
        self._mx.reset_peak_memory()

    def footprint(self) -> int | None:
        """Return the bytes that the system charges this process with; None where it does not tell."""
        return own_footprint()

    def clear_pool(self) -> int:
        """Give the pool's buffers back to the system; return how many bytes that were."""
        before = self._mx.get_cache_memory()
        self._mx.clear_cache()
        return before - self._mx.get_cache_memory()
