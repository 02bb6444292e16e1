"""Conformance of an mlx-lm architecture's caches, one architecture a process: `python -m tests.tools.conformance`.

The modules that a row's own process runs (`process`, `row`, `checks`, `snapshots`, `subject`) import MLX at their top.
"""

from __future__ import annotations

TOTAL, PREFIX, CHUNK = 32, 21, 7
"""Tokens of a sequence, of its prefix, and of a prefill chunk. A window of 8 wraps within the prefix and again after it."""

CUT, SHORT = 9, 3
"""Tokens of the first of two spans that a snapshot with a slot a token is kept in; of a prefix so short that a window of 8 can go back to it."""

TOLERANCE = 2e-5
"""The largest difference, as a share of the largest logit, that other pieces of the same tokens may make in float32."""

ROW = "tests.tools.conformance.process"
"""The module that answers for one architecture."""
