"""The layer sets that a soak runs, at unit prices: 1 byte a KV token, 10 bytes a recurrent state, a window of six tokens.

Layer order matters to what a refused restore leaves behind, so a set of two kinds comes in both orders.
"""

from __future__ import annotations

from kvlab.shape import LayerGroup, Shape
from kvlab.studies.faults.models import DRAFT, KV, RECURRENT

ROTATING = LayerGroup("rotating", (0,), bytes_per_token=1, state_bytes=6, window=6, growth_step=4)

LAYER_SETS: dict[str, tuple[Shape, ...]] = {
    "kv": (Shape("kv", (KV,)),),
    "kv+rotating": (Shape("rotating+kv", (ROTATING, KV)), Shape("kv+rotating", (KV, ROTATING))),
    "kv+recurrent": (Shape("recurrent+kv", (RECURRENT, KV)), Shape("kv+recurrent", (KV, RECURRENT))),
    "hybrid+draft": (Shape("recurrent+kv+draft_kv", (RECURRENT, KV, DRAFT), look_ahead=1),),
}
"""By name: the shapes that a trial draws from."""


def kinds(layer_set: str) -> frozenset[str]:
    """Return the layer kinds of a set."""
    return frozenset(group.kind for group in LAYER_SETS[layer_set][0].groups)
