"""`--scale`: what counts of tokens are multiplied by, as a number or a fraction."""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kvlab.errors import BadValue
from kvlab.policy import Policy
from kvlab.units import binary

if TYPE_CHECKING:
    from kvlab.lab import Twin
    from kvlab.lab.fitting import Fitted
    from kvlab.workloads import Workload

LARGEST_SCALE = 16.0
MOST_QUIET = 20_000
"""Requests above which a run on a twin prints an estimate of its duration first."""

SAMPLE = 500
"""Requests that are timed for the estimate."""

LONG_S = 300.0
"""Seconds above which a real run warns before it begins."""


def add_scale(parser: argparse.ArgumentParser, usual: str) -> None:
    """Add --scale; `usual` says what is done without it."""
    parser.add_argument(
        "--scale",
        metavar="F",
        help=f"experiments and cases: counts of tokens times F, such as 1/8, and a budget that fills as it does at full size; "
        f"a trace: the first of its requests, a share F of them; {usual}",
    )


def fit_words(fit: Fitted, policy: Policy) -> str:
    """Return in a line how a workload was fitted to its model."""
    if fit.of:
        cut = f"the first {len(fit.workload):,} of its {fit.of:,} requests" if len(fit.workload) < fit.of else f"all of its {fit.of:,} requests"
    else:
        cut = "its published token counts" if fit.scale == 1 else f"its token counts times {fit.scale:g}"
    share = "" if fit.share is None else f": {fit.share:.0%} of what its requests leave behind, as at full size"
    return f"{fit.workload.name} with {cut}, a budget of {binary(policy.budget_bytes)}{share}\n"


def time_words(fit: Fitted) -> str:
    """Return in a line how long a real run takes, when that is longer than a minute or two; else ""."""
    from kvlab.lab.fitting import NEW_TOKEN
    from kvlab.views.text_table import many

    if fit.seconds <= LONG_S:
        return ""
    took = f"{many(len(fit.workload), 'request')} take about {_duration(fit.seconds)} on two cores"
    tokens = f"{fit.cost:,} tokens to evaluate, a new token counted as {NEW_TOKEN}"
    return f"kvlab: {took}: {tokens}; Ctrl-C stops it, a smaller --scale takes less, kvlab twin takes seconds"


def pace_words(twin: Twin, workload: Workload, policy: Policy) -> str:
    """Return in a line how long a long run on a twin takes, by its first requests; "" for one that takes seconds."""
    if len(workload) <= MOST_QUIET:
        return ""
    from kvlab.lab import Twin

    begun = time.perf_counter()
    first = Twin(twin.shape, policy).run(replace(workload, requests=workload.requests[:SAMPLE]), policy, progress=False)
    times = len(workload) / SAMPLE
    about = _duration((time.perf_counter() - begun) * times)
    return (
        f"kvlab: {len(workload):,} requests take at least {about} on this machine, estimated from the first {SAMPLE:,}, and record "
        f"{first.count * times:,.0f} events; Ctrl-C stops the run and prints the results so far"
    )


def scale_of(text: str | None) -> float | None:
    """Return the factor that the user gave; None for none.

    Raises:
        BadValue: it is no number above 0, or far too large.
    """
    if text is None:
        return None
    above, slash, below = text.partition("/")
    try:
        factor = float(above) / (float(below) if slash else 1.0)
    except (ValueError, ZeroDivisionError):
        factor = math.nan
    if not 0 < factor <= LARGEST_SCALE:
        raise BadValue(what=f"--scale {text!r} is no factor", why=f"it is a number above 0 and at most {LARGEST_SCALE:g}", hint="write for example --scale 1/8")
    return factor


def _duration(seconds: float) -> str:
    minutes = max(1, round(seconds / 60))
    return f"{minutes / 60:,.0f} hours" if minutes >= 120 else "1 minute" if minutes == 1 else f"{minutes} minutes"
