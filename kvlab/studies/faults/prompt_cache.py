"""mlx-lm's own prompt cache (`LRUPromptCache`) as installed: the things in which it differs from a trie of snapshots.

Every function makes its own caches and returns figures; nothing here is part of kvlab's engine.
"""

# pyright: standard
from __future__ import annotations

import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

HEADS, WIDTH = 2, 32
_MODEL = "a model"


def _filled(tokens: int) -> list[Any]:
    """Return one layer's KV cache that holds `tokens`, evaluated."""
    import mlx.core as mx
    from mlx_lm.models.cache import KVCache

    cache = KVCache()
    cache.update_and_fetch(mx.ones((1, HEADS, tokens, WIDTH)), mx.ones((1, HEADS, tokens, WIDTH)))
    mx.eval(cache.keys, cache.values)
    return [cache]


def _holding(*entries: Sequence[int], most: int = 10) -> Any:
    from mlx_lm.models.cache import LRUPromptCache

    made = LRUPromptCache(max_size=most)
    for tokens in entries:
        made.insert_cache(_MODEL, list(tokens), _filled(len(tokens)))
    return made


def bytes_of_the_first_append(tokens: int) -> tuple[int, int, int]:
    """Return (bytes of an entry's buffers, bytes in use more after a hit on it, and after the hit's first append).

    The entry's buffer has room for the append, so whatever it adds is a copy.
    """
    import mlx.core as mx

    held = _holding(range(tokens))
    mx.clear_cache()
    before = mx.get_active_memory()
    found, _ = held.fetch_nearest_cache(_MODEL, [*range(tokens), -1])
    after_hit = mx.get_active_memory() - before
    (cache,) = found
    cache.update_and_fetch(mx.ones((1, HEADS, 1, WIDTH)), mx.ones((1, HEADS, 1, WIDTH)))
    mx.eval(cache.keys, cache.values)
    return int(mx.get_array_buffer_size([cache.keys, cache.values])), after_hit, mx.get_active_memory() - before


def evicted_although_just_used() -> bool:
    """Whether, of two entries of which the older was fetched last, the next insert evicts the older."""
    first, second = [1, 2, 3], [4, 5, 6]
    held = _holding(first, second, most=2)
    held.fetch_nearest_cache(_MODEL, [*first, 9])
    held.insert_cache(_MODEL, [7, 8, 9], _filled(3))
    return held.fetch_nearest_cache(_MODEL, [*first, 9])[0] is None


def numbers_copied_by_a_search(tail: int) -> int:
    """Return how many tokens one search copies to find the only entry, which has `tail` more tokens than the prompt shares with it."""
    held = _holding([1, 2, *range(10, 10 + tail)])
    trie = held._trie  # noqa: SLF001 - mlx-lm's class has no public way to search without copying arrays
    seen: dict[int, list[int]] = {}

    def watch(frame: FrameType, event: str, argument: object) -> Any:
        del event, argument
        if frame.f_code is not type(trie).search.__code__:
            return None
        extra = frame.f_locals.get("extra")
        if isinstance(extra, list):
            seen[id(extra)] = extra
        return watch

    before = sys.gettrace()
    sys.settrace(watch)
    try:
        trie.search(_MODEL, [1, 2, 3])
    finally:
        sys.settrace(before)
    return sum(map(len, seen.values()))


def left_to_evaluate(stored: Sequence[int], prompt: Sequence[int], *, state: bool = False) -> int:
    """Return how many tokens of `prompt` are left to evaluate when `stored` is the only entry; all of them when it is not found.

    Args:
        stored: The entry's tokens.
        prompt: The prompt.
        state: The entry is a recurrent layer's, which cannot be cut back.
    """
    from mlx_lm.models.cache import LRUPromptCache

    if not state:
        return len(_holding(stored).fetch_nearest_cache(_MODEL, list(prompt))[1])
    held: Any = LRUPromptCache()
    held.insert_cache(_MODEL, list(stored), _state())
    return len(held.fetch_nearest_cache(_MODEL, list(prompt))[1])


def _state() -> list[Any]:
    """Return one recurrent layer's state, evaluated."""
    import mlx.core as mx
    from mlx_lm.models.cache import ArraysCache

    cache = ArraysCache(1)
    cache[0] = mx.ones((1, WIDTH))
    mx.eval(cache[0])
    return [cache]
