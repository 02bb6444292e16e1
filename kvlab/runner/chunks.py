"""Where a prefill chunk ends: at the next multiple of the chunk from the resume offset, and at every capture on the way."""

from __future__ import annotations


def next_edge(at: int, resumed: int, last: int, chunk: int, capture: int | None, cancel: int | None) -> int:
    """Return the end of the chunk that begins at token `at`.

    A capture or a cancel adds a cut and does not restart the count: edges stay at multiples of `chunk` from `resumed`.

    Args:
        at: Where the chunk begins.
        resumed: The resume offset.
        last: The prompt's last token, which is held back.
        chunk: Tokens a chunk takes at most.
        capture: The nearest scheduled capture, if any.
        cancel: The position at which the prefill is cancelled, if any.
    """
    edge = resumed + ((at - resumed) // chunk + 1) * chunk
    cuts = [one for one in (capture, cancel) if one is not None and one > at]
    return min([edge, last, *cuts])
