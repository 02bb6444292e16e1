"""`--scale`: what counts of tokens are multiplied by, as a number or a fraction."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from kvlab.errors import BadValue
from kvlab.policy import Policy
from kvlab.units import binary

if TYPE_CHECKING:
    from kvlab.lab.fitting import Fitted

LARGEST_SCALE = 16.0


def add_scale(parser: argparse.ArgumentParser, usual: str) -> None:
    """Add --scale; `usual` says what is done without it."""
    parser.add_argument(
        "--scale",
        metavar="F",
        help=f"experiments and cases: counts of tokens times F, such as 1/8, and a budget that fills as it does at full size; {usual}",
    )


def fit_words(fit: Fitted, policy: Policy) -> str:
    """Return in a line how a workload was fitted to its model."""
    cut = "its published token counts" if fit.scale == 1 else f"its token counts times {fit.scale:g}"
    return f"{fit.workload.name} with {cut}, a budget of {binary(policy.budget_bytes)}: {fit.share:.0%} of what its requests leave behind, as at full size\n"


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
