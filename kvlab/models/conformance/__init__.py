"""Conformance of an mlx-lm architecture's caches, one architecture a process: `python -m kvlab.models.conformance.process`.

The modules inside import MLX at their top, as they live in a row's own process. What stands here is for the study that asks (kvlab/studies/conformance) too.
"""

from __future__ import annotations

TOTAL, PREFIX, CHUNK = 32, 21, 7
"""Tokens of a sequence, of its prefix, and of a prefill chunk. A window of 8 wraps within the prefix and again after it."""

CUT, SHORT = 9, 3
"""Tokens of the first of two spans that a snapshot with a slot a token is kept in; of a prefix so short that a window of 8 can go back to it."""

TOLERANCE = 2e-5
"""The largest difference, as a share of the largest logit, that other pieces of the same tokens may make in float32."""

ROW = "kvlab.models.conformance.process"
"""The module that answers for one architecture."""
