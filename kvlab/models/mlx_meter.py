"""What MLX has allocated, and the arrays that are a net's weights.

Invariants: the weights are held as one flat list, so reading their bytes takes microseconds; `peak` is never below
`active` (right after a reset MLX reports a peak that is too low until something is allocated).
"""

# pyright: standard
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvlab.allocator.meter import Reading
from kvlab.allocator.process_bytes import own_footprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    import mlx.core as mx
    from mlx import nn


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

    def read(self, retained: int = 0) -> Reading:
        """Return the allocator's bytes in use, in the pool, and at the peak, whoever retains them."""
        del retained
        active = self._mx.get_active_memory()
        return Reading(active=active, pool=self._mx.get_cache_memory(), peak=max(self._mx.get_peak_memory(), active))

    def watch(self, parameters: Sequence[mx.array]) -> None:
        """Take other arrays for the weights, all evaluated; none while they are unloaded."""
        self._parameters = list(parameters)

    def weights(self) -> int:
        """Return the bytes of the buffers that the weights keep alive, each buffer once."""
        return int(self._mx.get_array_buffer_size(self._parameters))

    def reset_peak(self) -> None:
        """Begin a new peak at the bytes now active."""
        self._mx.reset_peak_memory()

    def footprint(self) -> int | None:
        """Return the bytes that the system charges this process with; None where it does not report them."""
        return own_footprint()

    def clear_pool(self) -> int:
        """Give the pool's buffers back to the system; return how many bytes that were."""
        before = self._mx.get_cache_memory()
        self._mx.clear_cache()
        return before - self._mx.get_cache_memory()


def weights_of(net: nn.Module) -> list[mx.array]:
    """Return all arrays that `net` keeps, each once, evaluated: its parameters, and what its layers compute once (rotary frequencies)."""
    import mlx.core as mx
    from mlx.utils import tree_flatten

    found: dict[int, mx.array] = {}
    for module in net.modules():
        # a module is a dict of its own arrays and children; `parameters` leaves out the private ones
        leaves: Any = tree_flatten(dict(module))
        found.update((id(leaf), leaf) for _, leaf in leaves if isinstance(leaf, mx.array))
    arrays = list(found.values())
    mx.eval(arrays)
    return arrays
