"""Peak fit: two named constants between the levels of the twin and peaks that a server printed, with residuals.

    peak = level + base + per_token x prompt tokens

`base` is what a server holds at no context beside the twin's level: weights read elsewhere, fixed workspace. `per_token` is the
workspace of a prefill for every token of context: attention scores of one chunk, a layer's old buffer while it grows.
Both are fitted by least squares; what they are worth shows on rows that were not fitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kvlab.errors import BadValue


@dataclass(frozen=True, slots=True)
class PeakFit:
    """The constants and how well they do.

    Attributes:
        base: Bytes beside the level at no context; may be negative when the level's weights are too high.
        per_token: Bytes for every token of context.
        fitted: Rows they were fitted on.
        residuals: Predicted less observed of every row that was given, fitted or not, in bytes.
        shares: The same as a share of what was observed.
    """

    base: float
    per_token: float
    fitted: int
    residuals: tuple[float, ...]
    shares: tuple[float, ...]

    def peak(self, level: float, tokens: int) -> float:
        """Return the predicted peak of a request of `tokens` whose level is `level`, in bytes."""
        return level + self.base + self.per_token * tokens


def fit(levels: Sequence[float], tokens: Sequence[int], peaks: Sequence[float], rows: int) -> PeakFit:
    """Fit the two constants on the first `rows` rows and hold all rows against them. Levels and peaks are in bytes.

    Raises:
        BadValue: fewer than two rows to fit on, or rows of unequal number.
    """
    if not 2 <= rows <= len(peaks) or not len(levels) == len(tokens) == len(peaks):
        raise BadValue(
            what=f"{rows} rows to fit on of {len(levels)} levels, {len(tokens)} prompts and {len(peaks)} peaks",
            why="two constants need at least two rows, each with a level, a prompt and a peak",
            hint="give as many of each, and fit on 2 or more",
        )
    level, at, peak = (np.asarray(one, dtype=float) for one in (levels, tokens, peaks))
    terms = np.column_stack([np.ones_like(at), at])
    base, per_token = np.linalg.lstsq(terms[:rows], (peak - level)[:rows], rcond=None)[0]
    left = level + base + per_token * at - peak
    return PeakFit(float(base), float(per_token), rows, tuple(left.tolist()), tuple((left / peak).tolist()))
