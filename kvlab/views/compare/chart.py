"""A comparison as a chart: differences by owner, what was restored, and the tries side by side. Text twin: `Comparison.text`."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from kvlab.units import binary, unit_for
from kvlab.views import letters, theme
from kvlab.views.compare.comparison import OWNERS, Comparison
from kvlab.views.tables import largest
from kvlab.views.text_table import many

COLOURS = {
    "counted": theme.INK,
    "snapshots": theme.GREEN,
    "live": theme.BLUE,
    "unattributed": theme.VERMILLION,
    "pool": theme.PURPLE,
    "active": theme.GREY,
}
DASHES = {"counted": [1, 0], "snapshots": [6, 2], "live": [2, 2], "unattributed": [8, 2, 2, 2], "pool": [4, 4], "active": [1, 3]}
"""Lines differ by their dashes too."""

LINES = 60
"""At most this many rows of the tries are drawn."""

STEP = 15

PANEL = 320
"""Pixels of one side's tokens."""


def comparison_chart(comparison: Comparison) -> alt.VConcatChart:
    """Return the chart of a comparison."""
    parts: list[Any] = [_differences(comparison), _restored(comparison), _tries(comparison)]
    made: Any = alt.vconcat(*parts, spacing=20)
    own = dict.fromkeys(("color", "fill", "stroke", "strokeDash", "shape"), "independent")
    drawn: alt.VConcatChart = made.resolve_scale(**own)
    return drawn.properties(description=f"two recordings compared over {many(comparison.last, 'request')}")


def _differences(comparison: Comparison) -> alt.Chart:
    table = comparison.requests
    names = [name for name in OWNERS if largest(table.select(pl.col(f"{name}_difference").abs()), f"{name}_difference") > 0]
    if not names:
        return theme.nothing("no owner holds more or fewer bytes in B than in A, at any request's end")
    most = max(largest(table.select(pl.col(f"{name}_difference").abs()), f"{name}_difference") for name in names)
    unit = unit_for(most)
    long = table.select("request", *((pl.col(f"{name}_difference") / unit.size).round(4).alias(name) for name in names))
    folded = alt.Chart(long, width=680, height=170).transform_fold([*names], as_=["owner", "value"])
    return (
        folded.mark_line(point=True, interpolate="linear")
        .encode(
            x=alt.X("request:Q", title="request", axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("value:Q", title=f"B - A, {unit.name}"),
            color=alt.Color("owner:N", title=None, scale=theme.scale({name: COLOURS[name] for name in names})),
            strokeDash=alt.StrokeDash("owner:N", title=None, scale=alt.Scale(domain=names, range=[DASHES[name] for name in names])),
        )
        .properties(title="Bytes that B holds more than A, at each request's end")
    )


def _restored(comparison: Comparison) -> alt.Chart:
    table = comparison.requests.select("request", A="cached_a", B="cached_b")
    folded = alt.Chart(table, width=680, height=90).transform_fold(["A", "B"], as_=["side", "tokens"])
    colours = {"A": theme.BLUE, "B": theme.VERMILLION}
    return (
        folded.mark_bar(stroke=theme.INK, strokeWidth=0.7)
        .encode(
            x=alt.X("request:O", title="request"),
            xOffset="side:N",
            y=alt.Y("tokens:Q", title="cached tokens"),
            color=alt.Color("side:N", title=None, scale=theme.scale(colours)),
        )
        .properties(title="Restored: left bar A, right bar B")
    )


def _tries(comparison: Comparison) -> Any:
    rows = comparison.tries(comparison.last)
    if not rows:
        return theme.nothing("there is no request that both recordings have")
    shown = rows[:LINES]
    data: list[dict[str, Any]] = [
        {
            "place": place,
            "side": row.side,
            "panel": panel,
            "start": one.start if one else None,
            "end": one.end if one else None,
            "state": one.state if one else "missing",
            "label": f"{'  ' * min(row.depth, 8)}{one.label}" if one else "",
            "counted": binary(one.counted) if one else "",
        }
        for place, row in enumerate(shown)
        for panel, one in (("A", row.a), ("B", row.b))
    ]
    table = pl.DataFrame(data, infer_schema_length=None)
    states = [state for state in theme.STATES if state != "live"]
    y = alt.Y("place:Q", axis=None, scale=alt.Scale(domain=[-0.5, len(shown) - 0.5], reverse=True, nice=False, zero=False))
    reach = largest(table, "end") or 1
    table = letters.lettered(table, "state", letters.STATES, PANEL / reach)
    known = letters.legend(letters.STATES)
    panels: list[Any] = []
    for panel in "AB":
        base = alt.Chart(table, width=PANEL, height=len(shown) * STEP).transform_filter(f"datum.panel == '{panel}' && isValid(datum.start)")
        x = alt.X("start:Q", title="token position", scale=alt.Scale(domain=[0, reach], nice=False))
        bars = base.mark_bar(height=STEP - 7, strokeWidth=1.3).encode(
            x=x, x2="end:Q", y=y, fill=theme.span_fill(states, "snapshots", known), stroke=theme.span_stroke(states, "snapshots", known)
        )
        alone = (
            base.transform_filter("datum.side != 'both'")
            .mark_bar(height=STEP - 2, filled=False, stroke=theme.INK, strokeWidth=1.4, cornerRadius=3)
            .encode(x=x, x2="end:Q", y=y)
        )
        names = base.mark_text(align="left", dx=4, fontSize=9).encode(x=alt.X("end:Q"), y=y, text="label:N")
        panels.append(alt.layer(alone, bars, letters.drawn(base, y), names).properties(title=f"{panel} after request {comparison.last}"))
    more = f"; {len(rows) - LINES} more rows are not drawn" if len(rows) > LINES else ""
    return alt.hconcat(*panels, spacing=24).properties(
        title=alt.Title("Tries side by side", subtitle=f"a common node is one row; framed = only on that side{more}")
    )
