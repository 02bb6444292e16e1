"""How many tokens a block of a trace stands for, guessed from all of its rows: a trace names its blocks, not their size.

A row of n blocks of B tokens has more than (n - 1) x B tokens, its last block may be cut, and fewer than (n + 1) x B: what it holds beyond its
blocks is less than one. The size that its kind of trace usually has is taken if all rows agree; else the first other one that they all
agree on; else the one that most rows agree on, and a row that does not is an error.
"""

from __future__ import annotations

from collections.abc import Sequence

MOONCAKE_BLOCK = 512
BAILIAN_BLOCK = 16
SIZES = (MOONCAKE_BLOCK, BAILIAN_BLOCK, 64, 32, 128, 256, 1024, 2048, 4096, 8)
"""Sizes that public traces and servers use, the likelier first."""


def block_size(tokens: Sequence[int], counts: Sequence[int], usual: int) -> int:
    """Return the tokens of a block.

    Args:
        tokens: Tokens of each row's prompt.
        counts: Blocks of each row.
        usual: The size that this kind of trace has.
    """
    best, most = usual, -1
    for size in dict.fromkeys((usual, *SIZES)):
        agree = sum(agrees(length, count, size) for length, count in zip(tokens, counts, strict=True))
        if agree == len(tokens):
            return size
        if agree > most:
            best, most = size, agree
    return best


def agrees(tokens: int, count: int, size: int) -> bool:
    """Whether `count` blocks of `size` make a prompt of `tokens`."""
    return (count - 1) * size < tokens < (count + 1) * size
