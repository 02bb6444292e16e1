"""Figures that a model's layers alone give: a checkpoint, a token, packed projections (D9), and the copies that merges consume (D7)."""

from __future__ import annotations

from kvlab.lab.shapes import read_shape
from kvlab.recording.reported import reported
from kvlab.shape import Shape
from kvlab.studies.reproduce.peaks import levels
from kvlab.studies.reproduce.published import Published
from kvlab.studies.reproduce.result import Made, Table
from kvlab.studies.reproduce.scenes import hybrid27, run_named, sliding31
from kvlab.units import GB, GIB, KIB, MIB

BF16 = 2
HIDDEN = 5120
"""Width of qwen3.8:27b, as in its family's public configs."""

WEIGHT_BYTES = (4 + 8 / 16) / 8
"""Bytes of a weight of 4 bits with a scale of 8 bits for every 16 (NVFP4)."""

DELTA_HEAD, KEY_HEADS, VALUE_HEADS = 128, 16, 48
"""Of the delta rule: the width of a head of keys and of values, and the heads."""


def states(published: Published) -> Made:
    """Compute a sliding-window checkpoint, and a token of full attention in 36 layers of 8 heads 128 wide."""
    del published
    return Made({"gemma4_26b_checkpoint": read_shape("gemma4-26b-a4b").state_bytes / MIB, "kv36_per_token": 36 * 2 * 8 * 128 * BF16 / KIB})


def pool(published: Published) -> Made:
    """D9: projections are packed while weights are loaded; what is consumed stays in the allocator's pool until it is cleared."""
    del published
    left, weights = _packed(hybrid27()), hybrid27().weights_bytes
    figures = {
        "pool_after_load": left / GIB,
        "reported_before": reported(weights=weights, live=0, paged_out=0, pool=left) / GIB,
        "reported_after": reported(weights=weights, live=0, paged_out=0) / GIB,
        "gemma4_pool": _packed(sliding31()) / GIB,
    }
    return Made(figures)


def merges(published: Published) -> Made:
    """D7: what merges consume is held until the next sweep, or freed as it is consumed (qwen3.8:27b, a second 84k-token prompt)."""
    del published
    # the rules around the change are those of the last release with sweeps
    arms = {name: [one for one in levels(run_named(arm)) if one.request] for name, arm in (("sweep", "D7:before"), ("scopes", "D7"))}
    sweep, scopes = (arm[1] for arm in arms.values())
    figures = {
        "ratio": sweep.total / scopes.total,
        "peak_sweep": sweep.total / GB,
        "peak_scopes": scopes.total / GB,
        "held_copies": (sweep.total - scopes.total) / GB,
        "cold_path": (arms["sweep"][0].total - arms["scopes"][0].total) / GB,
    }
    rows = tuple(
        (f"{name}, prompt {place + 1}", *(f"{one / GB:.2f}" for one in (level.weights, level.live, level.snapshots, level.waiting, level.total)))
        for name, both in arms.items()
        for place, level in enumerate(both)
    )
    return Made(figures, (Table("the highest level, GB", ("arm", "weights", "live", "snapshots", "waiting for a sweep", "all"), rows),))


def _packed(shape: Shape) -> int:
    """Return the bytes of the buffers that packing the delta layers' input projections consumes; 0 without such layers."""
    layers = sum(len(group.layers) for group in shape.groups if group.kind == "recurrent")
    # rows of queries, keys, values and gate; of the two per-head scalars
    quantised, plain = 2 * (KEY_HEADS + VALUE_HEADS) * DELTA_HEAD, 2 * VALUE_HEADS
    return round(layers * HIDDEN * (quantised * WEIGHT_BYTES + plain * BF16))
