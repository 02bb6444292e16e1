"""Bytes that Python objects hold: what a test that must take little is held against, whatever ran before it in the same process."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable


def most_held(run: Callable[[], object]) -> int:
    """Return the bytes that Python's allocator gave out at most at one time while `run` ran."""
    tracemalloc.start()
    try:
        run()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
