"""Letters in bars, so that a still picture reads without its colours: each word of a legend has a letter, and each bar that is wide enough shows it.

Invariant: a letter reads on what it lies on: dark on a fill (at least 3:1 on every colour of theme.py, a test computes it), the ink
of all text on a hollow bar.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import altair as alt
import polars as pl

from kvlab.views import theme

STATES: Mapping[str, str] = {"owned": "O", "view": "V", "lazy": "L"}
"""Letters of what a snapshot is, those of the dashboard."""

ROOM = 10
"""A bar of fewer pixels shows no letter."""


def lettered(table: pl.DataFrame, of: str, letters: Mapping[str, str], pixels: float, *, hollow: Iterable[str] = theme.HOLLOW) -> pl.DataFrame:
    """Return bars (`start`, `end`, and in column `of` what each is) with `letter` ("" where it has no room), its colour `ink` and its place `mid`.

    Args:
        table: The bars.
        of: The column with the words.
        letters: A letter for each word; a word without one shows none.
        pixels: Pixels for each unit of `start` and `end`.
        hollow: The words whose bars are not filled.
    """
    wide = (pl.col("end") - pl.col("start")) * pixels >= ROOM
    return table.with_columns(
        letter=pl.when(wide).then(pl.col(of).replace_strict(dict(letters), default="", return_dtype=pl.String)).otherwise(pl.lit("")),
        ink=pl.when(pl.col(of).is_in(list(hollow))).then(pl.lit(theme.INK)).otherwise(pl.lit(theme.CORE)),
        mid=(pl.col("start") + pl.col("end")) / 2,
    )


def drawn(base: alt.Chart, y: Any, title: str = "token position") -> alt.Chart:
    """Return the letters over the bars of `base`, whose axis has the title `title`."""
    some = base.transform_filter("datum.letter && datum.letter != ''")
    return some.mark_text(fontSize=9, fontWeight="bold", baseline="middle").encode(
        x=alt.X("mid:Q", title=title), y=y, text="letter:N", color=alt.Color("ink:N", scale=None)
    )


def legend(letters: Mapping[str, str], **given: Any) -> alt.Legend:
    """Return a legend whose words are followed by their letters."""
    return alt.Legend(labelExpr=f"datum.label + ({ {word: f' {letter}' for word, letter in letters.items()} }[datum.label] || '')", **given)
