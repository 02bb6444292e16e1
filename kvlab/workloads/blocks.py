"""Requests of a trace, made one at a time, so that a trace of thousands of long prompts is never in a process as a whole.

Invariants: block `n` of a trace is always the same run of token ids, and two blocks share none; what a prompt holds beyond its blocks is
fresh. The same row gives the same request on every access.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

from kvlab.errors import BadValue
from kvlab.workloads.request import Request
from kvlab.workloads.streams import FIRST_FRESH, FIRST_RERENDERED, FIRST_STREAM
from kvlab.workloads.workload import OnAccess

BLOCK_IDS = FIRST_FRESH - FIRST_STREAM
"""Token ids that the blocks of a trace may take together."""

FRESH_IDS = FIRST_RERENDERED - FIRST_FRESH
"""Token ids for what no block names."""

MOONCAKE_BLOCK = 512
BAILIAN_BLOCK = 16
SIZES = (MOONCAKE_BLOCK, BAILIAN_BLOCK, 64, 32, 128, 256, 1024, 2048, 4096, 8)
"""Sizes that public traces and servers use, the likelier first."""


@dataclass(slots=True)
class TraceRows:
    """The rows of a trace as columns, in order of arrival.

    Attributes:
        where: The file, for errors.
        block: Tokens of a block; 0 when the trace names none.
        arrival: Seconds since the first row.
        tokens: Tokens of each prompt.
        output: Tokens of each reply.
        blocks: Places of the blocks, all rows behind one another.
        ends: Where each row ends in `blocks`.
    """

    where: str
    block: int = 0
    arrival: array[float] = field(default_factory=lambda: array("d"))
    tokens: array[int] = field(default_factory=lambda: array("q"))
    output: array[int] = field(default_factory=lambda: array("q"))
    blocks: array[int] = field(default_factory=lambda: array("i"))
    ends: array[int] = field(default_factory=lambda: array("q"))

    def __len__(self) -> int:
        return len(self.tokens)


class TraceRequests(OnAccess):
    """The requests of a trace's rows.

    Raises:
        BadValue: the trace has more tokens than there are ids.
    """

    def __init__(self, rows: TraceRows) -> None:
        super().__init__(len(rows), self._of_row)
        self._rows = rows
        self._fresh = array("q", [0])
        for place, tokens in enumerate(rows.tokens):
            self._fresh.append(self._fresh[-1] + max(0, tokens - rows.block * self._blocks_of(place)))
        blocks = 1 + max(rows.blocks, default=-1)
        for what, needed, room in (("blocks", blocks * rows.block, BLOCK_IDS), ("prompts without blocks", self._fresh[-1], FRESH_IDS)):
            if needed > room:
                raise BadValue(
                    what=f"{rows.where}: its {what} hold {needed} tokens",
                    why=f"token ids are int32, and a trace may take {room} of them for its {what}",
                    hint="cut the trace into shorter files",
                )

    def _of_row(self, place: int) -> Request:
        rows = self._rows
        waited = rows.arrival[place] - rows.arrival[place - 1] if place else 0.0
        return Request(label=f"row {place + 1}", tokens=self._prompt(place), max_new=rows.output[place], ignore_stop=True, think_s=waited)

    def _prompt(self, place: int) -> array[int]:
        # only a trace needs it, and it takes as long to import as the rest of kvlab
        import numpy as np

        rows, count = self._rows, self._blocks_of(place)
        end = rows.ends[place] if rows.block else 0
        firsts = np.frombuffer(rows.blocks, dtype=np.int32)[end - count : end] if count else np.empty(0, np.int32)
        ids = (firsts.astype(np.int64)[:, None] * rows.block + np.arange(FIRST_STREAM, FIRST_STREAM + rows.block)).astype(np.int32).ravel()
        start, stop = FIRST_FRESH + self._fresh[place], FIRST_FRESH + self._fresh[place + 1]
        return array("i", np.concatenate([ids[: rows.tokens[place]], np.arange(start, stop, dtype=np.int32)]).tobytes())

    def _blocks_of(self, place: int) -> int:
        ends = self._rows.ends
        return ends[place] - (ends[place - 1] if place else 0) if self._rows.block else 0


def block_size(tokens: Sequence[int], counts: Sequence[int], usual: int) -> int:
    """Return the tokens of a block, estimated from all rows: a trace names its blocks, not their size.

    A row of n blocks of B tokens has more than (n - 1) x B tokens, as its last block may be cut, and fewer than (n + 1) x B. The usual size is
    returned if all rows agree with it; else the first other one that all agree with; else the one that most rows agree with, and a row that
    does not is an error.

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
