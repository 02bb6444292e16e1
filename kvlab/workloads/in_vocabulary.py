"""Explicit token ids of a workload as ids of a real model: those of streams and fresh ones lie beyond any vocabulary.

Invariants: the same id always becomes the same token, and never one that ends a reply. Two ids may become one token: in a small vocabulary
prompts that share nothing may begin alike, as texts do.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import numpy as np

from kvlab.workloads.streams import FIRST_STREAM

# Knuth's multiplicative hash: neighbours land far apart, so a prompt is no run of neighbouring tokens
_SPREAD = 2654435761


def in_vocabulary(tokens: Sequence[int], vocabulary: int, avoid: AbstractSet[int] = frozenset()) -> list[int]:
    """Return `tokens` with each id from `FIRST_STREAM` on replaced by one below `vocabulary` that is not in `avoid`; smaller ids stay."""
    ids = np.asarray(tokens, dtype=np.int64)
    allowed = np.array([one for one in range(vocabulary) if one not in avoid], dtype=np.int64)
    spread = allowed[((ids * _SPREAD) & 0xFFFFFFFF) * len(allowed) >> 32]
    return np.where(ids < FIRST_STREAM, ids, spread).tolist()
