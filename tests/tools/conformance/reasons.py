"""Why some architectures do not conform, as far as it is known.

The causes in `phi3small` and `plamo3` were confirmed by taking them away: with another mask both conform.
"""

from __future__ import annotations

WHY: dict[str, str] = {
    "bitnet": "its ternary product is a Metal kernel of mlx-lm; it needs a Mac",
    "deepseek_v41": "its cache is a class of its own (a window, compressed groups, an open one); kvlab has no layer kind for it; copies of it continue exactly",
    "muse_spark": "its attention and its experts are Metal kernels of mlx-lm; it needs a Mac",
    "olmo": "it needs the package ai2-olmo, which kvlab does not install",
    "phi3small": "mlx-lm 0.32.2 adds a mask of true and false to the scores of its block-sparse layers, so tokens see later ones of the same piece",
    "plamo3": "mlx-lm 0.32.2 lets its windows see one token more than their cache keeps, so a token sees less once it is cached",
}
