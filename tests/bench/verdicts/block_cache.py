"""A server's bytes by a model of their own: a cache of equal blocks, evicted least recently used first, on a heap whose arenas never shrink.

It shares no code and no rules with kvlab's cache: nothing of kvlab is imported, and a test holds that. Blocks are as in vLLM's prefix
caching (a block is found by its tokens and the block before it), arenas as in size-class allocators such as mimalloc.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Sequence

BLOCK = 16
"""Tokens of a block."""

CLASSES = 8
"""Size classes in each doubling."""


class ArenaHeap:
    """Slots of size classes in arenas that are never given back: what is freed is used again by its own class only.

    Args:
        arena: Bytes by which it takes from the system; a slot that is larger has an arena of its own.

    Attributes:
        taken: Bytes taken from the system.
    """

    def __init__(self, arena: int) -> None:
        self.taken, self._arena = 0, arena
        self._free: dict[int, int] = {}

    def allocate(self, size: int) -> int:
        """Take a slot of at least `size` bytes and return its size, by which it is freed."""
        slot = _class_of(size)
        if not self._free.get(slot):
            slots = max(1, self._arena // slot)
            self._free[slot] = slots
            self.taken += slots * slot
        self._free[slot] -= 1
        return slot

    def free(self, slot: int) -> None:
        """Give a slot back to its class."""
        self._free[slot] += 1


def _class_of(size: int) -> int:
    doubling = 2 ** (max(1, size - 1).bit_length() - 1)
    step = max(1, doubling // CLASSES)
    return math.ceil(size / step) * step


class BlockCache:
    """Blocks of tokens under a budget.

    Args:
        heap: Where each block has its bytes.
        block_bytes: Bytes of a block.
        budget: Bytes of all blocks together; those of the running request are kept beyond it.
    """

    def __init__(self, heap: ArenaHeap, block_bytes: int, budget: int) -> None:
        self._heap, self._bytes, self._most = heap, block_bytes, budget // block_bytes
        self._slots: OrderedDict[tuple[int, tuple[int, ...]], tuple[int, int]] = OrderedDict()
        self._made = 0

    @property
    def held(self) -> int:
        """Bytes of all blocks."""
        return len(self._slots) * self._bytes

    def serve(self, prompt: Sequence[int], reply: Sequence[int]) -> int:
        """Answer a request and return how many tokens of its prompt were found."""
        tokens = (*prompt, *reply)
        matched, parent, found = 0, 0, True
        running: list[tuple[int, tuple[int, ...]]] = []
        for first in range(0, len(tokens) - BLOCK + 1, BLOCK):
            key = (parent, tokens[first : first + BLOCK])
            held = self._slots.get(key)
            found = found and held is not None
            if held is None:
                self._made += 1
                held = self._slots[key] = (self._made, self._heap.allocate(self._bytes))
            matched += BLOCK * (found and first + BLOCK <= len(prompt))
            parent = held[0]
            running.append(key)
        # the end of a prompt is used up first, as nothing is found behind a block that is gone
        for key in reversed(running):
            self._slots.move_to_end(key)
        while len(self._slots) > max(self._most, len(running)):
            _, (_, slot) = self._slots.popitem(last=False)
            self._heap.free(slot)
        return matched
