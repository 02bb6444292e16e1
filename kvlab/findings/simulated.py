"""The simulation of the same requests, made again of what a server reports of them: how many tokens, how many matched, how many were generated.

The tokens themselves are not known and not needed: a prompt that matched m tokens begins with m tokens of an earlier one, and the twin
holds the same bytes for any tokens with these matches. Which earlier one is not recorded; the latest that is long enough is taken,
as conversations and tool sessions go on from their last request.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from kvlab.lab.twin import Twin, expected_policy
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.recording.facts import Counts, Facts, Series, Values, fold
from kvlab.recording.reported import reported_bytes
from kvlab.shape import Shape
from kvlab.workloads import Request, Workload
from kvlab.workloads.streams import Fresh

RELEASES = ("main", "0.33.0", "0.32.7", "0.32.1", "0.30.8", "0.30.7")
"""The releases with which rules changed, the newest first: the sets of rules that are known."""

MOST_KEPT = 512
"""Earlier prompts that are kept for matching."""

MOST_REQUESTS = 600
"""Requests that a twin runs: the last ones of a longer series, as what growth there is shows in them."""

MOST_COUNTED = 400
"""Requests whose figures are not in a series that the twin runs; of more the last ones."""

MOST_TOKENS = 30_000_000
"""Tokens of all of them together; a log's figures may be anything."""

TURNS, MOST_TURNS = 40, 160
"""Turns of a simulated conversation; more, up to so many, when they do not fill the budget."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """The cache after the same requests by the rules, from an empty one on.

    Attributes:
        predicted: Bytes it would be reported with after each request, shape (requests,).
        grown_when_full: Bytes above the first request's after each, when the budget was full before: a cache that evicts whatever it may.
        facts: Of the simulation's own recording.
    """

    predicted: Values
    grown_when_full: Values
    facts: Facts


def simulate(counts: Sequence[Counts], shape: Shape, policy: Policy) -> Simulation:
    """Run the twin of requests with these counts under a policy, its three defect choices at main."""
    requests = tuple(requests_of(counts, shape.look_ahead if policy.draft_keys == "pairs" else 0))
    recording = _run(requests, shape, expected_policy(policy))
    without_budget = _reported(_run(requests, shape, expected_policy(policy).replace(budget_bytes=0)))
    return Simulation(_reported(recording), without_budget - without_budget[0], fold(recording))


def releases() -> Iterator[tuple[str, Policy]]:
    """Yield the releases whose rules differ in a simulation, the newest first."""
    tried: list[Policy] = []
    for version in RELEASES:
        policy = expected_policy(Policy.ollama(version))
        if policy not in tried:
            tried.append(policy)
            yield version, policy


def conversation(shape: Shape, policy: Policy) -> Facts:
    """Return the facts of a simulated conversation that is long enough to pass the budget."""
    policy = expected_policy(policy)
    turns = min(MOST_TURNS, max(TURNS, 2 * policy.budget_bytes // shape.state_bytes))
    fresh = Fresh()
    tokens, requests = fresh.take(40), list[Request]()
    for _ in range(turns):
        requests.append(Request(tokens=tokens, generated=fresh.take(24)))
        # the reply comes back rendered otherwise, as chat templates do
        tokens = tokens + fresh.take(38)
    return fold(Twin(shape, policy).run(Workload("conversation", tuple(requests)), policy, progress=False))


def how_many_run(counts: Sequence[Counts], most: int = MOST_REQUESTS) -> int:
    """Return how many of the last requests a twin runs, `most` at most: 0 when the last one alone is too long."""
    count = tokens = 0
    for one in reversed(counts[-most:]):
        tokens += one.tokens + one.generated
        if tokens > MOST_TOKENS:
            break
        count += 1
    return count


def counts_of(facts: Facts) -> tuple[Counts, ...]:
    """Return the counts of a recording's last requests, as many as a twin runs."""
    rows = facts.requests.filter(pl.col("tokens").is_not_null() & pl.col("matched").is_not_null()).tail(MOST_COUNTED)
    counts = tuple(Counts(tokens, matched, generated or 0) for tokens, matched, generated in rows.select("tokens", "matched", "generated").iter_rows())
    return counts[len(counts) - how_many_run(counts) :]


def latest(series: Series) -> Series:
    """Return the last requests of a series, as many as a twin runs."""
    last = slice(len(series) - how_many_run(series.counts or ()), None)
    return replace(series, request=series.request[last], observed=series.observed[last], counts=series.counts[last] if series.counts else None)


def requests_of(counts: Sequence[Counts], look_ahead: int = 0) -> Iterator[Request]:
    """Yield requests with these counts, in order.

    A cache whose keys look ahead matches that many tokens fewer than two prompts share.

    A match longer than every earlier prompt and reply was made with something from before the first request: it is taken as new.
    """
    fresh = Fresh()
    kept: list[tuple[int, ...]] = []
    for one in counts:
        matched = min(one.matched, one.tokens)
        shared = min(matched + look_ahead, one.tokens) if matched else 0
        earlier = next((tokens for tokens in reversed(kept) if len(tokens) >= shared), ()) if shared else ()
        prompt = earlier[:shared] + fresh.take(one.tokens - len(earlier[:shared]))
        reply = fresh.take(one.generated)
        kept.append(prompt + reply)
        del kept[:-MOST_KEPT]
        yield Request(tokens=prompt, generated=reply, think_s=one.think_s)


def _run(requests: tuple[Request, ...], shape: Shape, policy: Policy) -> Recording:
    # what a server answered it had room for, whatever the shape's file says of the context
    return Twin(replace(shape, context=0), policy).run(Workload("simulated", requests), policy, progress=False)


def _reported(recording: Recording) -> Values:
    return np.array([count for _, count in sorted(reported_bytes(recording).items())], dtype=np.float64)
