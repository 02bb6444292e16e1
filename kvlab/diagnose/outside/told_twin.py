"""The twin of requests that only their counts are known of: what a lawful cache would be reported with after each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from kvlab.diagnose.budget_or_leak import budget_or_leak
from kvlab.diagnose.finding import Finding
from kvlab.diagnose.outside.requests_told import Told, requests_of
from kvlab.diagnose.reported import reported_bytes
from kvlab.diagnose.trend import Values
from kvlab.lab.twin import Twin, lawful
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.shape import Shape
from kvlab.workloads import Request, Workload


@dataclass(frozen=True, slots=True)
class ToldTwin:
    """A lawful cache after the same requests, from an empty one on.

    Attributes:
        predicted: Bytes it is reported with after each request.
        grown_when_full: Bytes above the first request's after each, when the budget was full before: a cache that evicts whatever it may.
        finding: What its own recording says: budget, budget_filling, over_budget_by_design or no_growth.
    """

    predicted: Values
    grown_when_full: Values
    finding: Finding


@lru_cache(maxsize=256)
def told_twin(told: tuple[Told, ...], shape: Shape, policy: Policy) -> ToldTwin:
    """Run the twin of requests with these counts."""
    requests = tuple(requests_of(told, shape.look_ahead if policy.draft_keys == "pairs" else 0))
    recording = _run(requests, shape, lawful(policy))
    without_budget = _reported(_run(requests, shape, lawful(policy).replace(budget_bytes=0)))
    return ToldTwin(_reported(recording), without_budget - without_budget[0], budget_or_leak(recording))


def _run(requests: tuple[Request, ...], shape: Shape, policy: Policy) -> Recording:
    # what a server answered it had room for, whatever the shape's file says of the context
    return Twin(replace(shape, context=0), policy).run(Workload("told", requests), policy, progress=False)


def _reported(recording: Recording) -> Values:
    return np.array([count for _, count in sorted(reported_bytes(recording).items())], dtype=np.float64)
