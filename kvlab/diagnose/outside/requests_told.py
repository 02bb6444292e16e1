"""Requests made again of what a server tells of them: how many tokens, how many matched, how many were generated.

The tokens themselves are not known and not needed: a prompt that matched m tokens begins with m tokens of an earlier one, and the twin
holds the same bytes for any tokens with these matches. Which earlier one is not told; the latest that is long enough is taken,
as conversations and tool sessions go on from their last request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from kvlab.recording import Recording
from kvlab.workloads.request import Request
from kvlab.workloads.streams import Fresh

MOST_KEPT = 512
"""Earlier prompts that are kept for matching."""


MOST_REQUESTS = 600
"""Requests that a twin runs: the last ones of a longer series, as what growth there is shows in them."""

MOST_COUNTED = 400
"""Requests of a log whose figures are not in a series that the twin runs; of a longer one the last ones."""

MOST_TOKENS = 30_000_000
"""Tokens of all of them together; a log's figures may be anything."""


@dataclass(frozen=True, slots=True)
class Told:
    """The counts of one request.

    Attributes:
        tokens: Tokens of the prompt.
        matched: How many of them agreed with the trie.
        generated: New tokens.
        think_s: Seconds since the request before.
    """

    tokens: int
    matched: int
    generated: int
    think_s: float = 0.0


def how_many_run(told: Sequence[Told], most: int = MOST_REQUESTS) -> int:
    """Return how many of the last requests a twin runs, `most` at most: 0 when the last one alone is too long."""
    count = tokens = 0
    for one in reversed(told[-most:]):
        tokens += one.tokens + one.generated
        if tokens > MOST_TOKENS:
            break
        count += 1
    return count


def counts_of(recording: Recording) -> tuple[Told, ...]:
    """Return the counts of a recording's last requests, as many as a twin runs."""
    rows = recording.requests.filter(pl.col("tokens").is_not_null() & pl.col("matched").is_not_null()).tail(MOST_COUNTED)
    told = tuple(Told(tokens, matched, generated or 0) for tokens, matched, generated in rows.select("tokens", "matched", "generated").iter_rows())
    return told[len(told) - how_many_run(told) :]


def requests_of(told: Sequence[Told], look_ahead: int = 0) -> Iterator[Request]:
    """Yield requests with these counts, in order.

    A cache whose keys look ahead matches that many tokens fewer than two prompts share.

    A match longer than every earlier prompt and reply was made with something from before the first request: it is taken as new.
    """
    fresh = Fresh()
    kept: list[tuple[int, ...]] = []
    for one in told:
        matched = min(one.matched, one.tokens)
        shared = min(matched + look_ahead, one.tokens) if matched else 0
        earlier = next((tokens for tokens in reversed(kept) if len(tokens) >= shared), ()) if shared else ()
        prompt = earlier[:shared] + fresh.take(one.tokens - len(earlier[:shared]))
        reply = fresh.take(one.generated)
        kept.append(prompt + reply)
        del kept[:-MOST_KEPT]
        yield Request(tokens=prompt, generated=reply, think_s=one.think_s)
