"""What a probe saw, as a chart: the size that the server lists, what the processes hold, and swap in use, over the requests or over time.

Lines differ by their dashes as well as by their colours. A line that has no figure, or is 0 throughout, is not drawn.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from kvlab.probe import request_rows, sample_rows
from kvlab.recording import Recording
from kvlab.units import binary, unit_for
from kvlab.views import theme
from kvlab.views.tables import largest

LINES: dict[str, tuple[str, list[int]]] = {
    "size": (theme.BLUE, [1, 0]),
    "footprint": (theme.VERMILLION, [6, 3]),
    "swap_used": (theme.GREY, [2, 2]),
}
"""The figures that are drawn: each one's colour and dash."""

WORDS = {"size": "listed size", "footprint": "footprint of the processes", "swap_used": "swap in use"}

WIDTH, HEIGHT = 720, 270


def outside_chart(recording: Recording) -> alt.LayerChart:
    """Return the chart of a probe's recording: over its requests, or over seconds when it sent none."""
    sent = recording.requests.height > 0
    rows = request_rows(recording) if sent else sample_rows(recording)
    over = "request" if sent else "t"
    drawn = [name for name in LINES if rows.get_column(name).sum()]
    title = alt.Title("What was seen from outside", subtitle=_ends_words(rows, drawn))
    if not drawn:
        words = "no bytes were read"
        return alt.LayerChart(layer=[theme.nothing(words)]).properties(width=WIDTH, title=title, description=words)
    unit = unit_for(max(largest(rows, name) for name in drawn))
    table = rows.select(pl.col(over).alias("x"), *((pl.col(name) / unit.size).round(4).alias(WORDS[name]) for name in drawn))
    long = table.unpivot([WORDS[name] for name in drawn], index="x", variable_name="gauge", value_name="bytes").drop_nulls("bytes")
    names = [WORDS[name] for name in drawn]
    colour = alt.Color("gauge:N", title=None, scale=alt.Scale(domain=names, range=[LINES[name][0] for name in drawn]))
    dash = alt.StrokeDash("gauge:N", title=None, scale=alt.Scale(domain=names, range=[LINES[name][1] for name in drawn]))
    tips = [alt.Tooltip("x:Q", title=over), alt.Tooltip("gauge:N"), alt.Tooltip("bytes:Q", title=unit.name)]
    lines = (
        alt.Chart(long)
        .mark_line(point=len(long) <= 400)
        .encode(
            alt.X("x:Q", title="request" if sent else "seconds", scale=alt.Scale(nice=False), axis=alt.Axis(tickMinStep=1)),
            alt.Y("bytes:Q", title=unit.name, scale=alt.Scale(zero=False)),
            colour,
            dash,
            tooltip=tips,
        )
    )
    return alt.LayerChart(layer=[lines]).properties(
        width=WIDTH, height=HEIGHT, title=title, description=f"Lines over {rows.height} samples. {_ends_words(rows, drawn)}"
    )


def _ends_words(rows: pl.DataFrame, drawn: list[str]) -> str:
    """Return the first and the last figure of each line, for readers who cannot see it."""
    ends = {name: rows.get_column(name).drop_nulls() for name in drawn}
    return "; ".join(f"{WORDS[name]} {binary(values[0])} to {binary(values[-1])}" for name, values in ends.items() if len(values))
