"""The trie as an outline: one row a node, its edge as a bar over token positions. Text twin: the same outline in plain text.

A bar's colour and letter are what its snapshots are (theme.STATES), its frame says that it lies on the active path, columns next to it give
tokens, counted bytes and snapshots in words.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import altair as alt
import polars as pl

from kvlab.recording import Moment, Recording
from kvlab.units import binary
from kvlab.views import letters, text_table, theme
from kvlab.views.outline_rows import OutlineRow, outline_rows
from kvlab.views.tables import largest, moments

LINES = 100
"""An outline draws at most this many rows, the newest with their ancestors; it says how many more there are."""

STEP = 16
"""Pixels a row."""

INDENT = 12
"""Pixels by which a child's name is set in."""

BARS = 440
"""Pixels of the token axis."""


def outline_chart(recording: Recording) -> alt.HConcatChart:
    """Return the outline of a recording's trie at its last moment."""
    stops = moments(recording)
    title = f"The trie, depth first, over {text_table.many(recording.requests.height, 'request')}"
    return _chart(recording.at(stops.item(-1, "seq")) if stops.height else None, title)


def moment_chart(moment: Moment) -> alt.HConcatChart:
    """Return the outline of one moment's trie."""
    return _chart(moment, f"The trie after event {moment.seq}, in request {moment.request}")


def outline_text(moment: Moment, most: int = 60) -> str:
    """Return the outline as plain text: `*` marks the active path, `user` an explicit restore point. At most `most` rows."""
    rows = outline_rows(moment)
    held = sum(row.counted for row in rows)
    head = f"trie after event {moment.seq}, in request {moment.request}: {text_table.many(len(rows), 'node')}, {binary(held)} counted; * = active path"
    cells: list[Sequence[object]] = [
        (
            ("* " if row.active else "  ") + "  " * row.depth + row.label,
            f"[{row.start}, {row.end})",
            row.tokens,
            binary(row.counted),
            row.snapshots + (", user" if row.user else ""),
        )
        for row in rows
    ]
    return head + "\n" + text_table.columns(("  node", "edge", "tokens", "counted", "snapshots"), text_table.shortened(cells, most), left=(0, 4))


def _chart_rows(rows: Sequence[OutlineRow]) -> list[dict[str, Hashable]]:
    return [
        {
            "node": row.node,
            "place": row.place,
            "depth": row.depth,
            "label": row.label,
            "start": row.start,
            "end": row.end,
            "tokens": row.tokens,
            "active": row.active,
            "counted": binary(row.counted) if row.node else "",
            "state": row.state,
            "snapshots": row.snapshots + (", user" if row.user else ""),
            "request": row.request,
        }
        for row in rows
    ]


def _chart(moment: Moment | None, title: str) -> alt.HConcatChart:
    table = pl.DataFrame([] if moment is None else _chart_rows(outline_rows(moment, LINES)), infer_schema_length=None)
    if moment is None or not table.height:
        return alt.hconcat(theme.nothing("there is no node")).properties(title=title, description="an empty trie")
    reach = largest(table, "end") or 1
    table = letters.lettered(table, "state", letters.STATES, BARS / reach)
    tallest = moment.nodes.height
    lines = min(tallest, LINES)
    y = alt.Y("place:Q", axis=None, scale=alt.Scale(domain=[-0.5, lines - 0.5], reverse=True, nice=False, zero=False, padding=0))
    base = alt.Chart(table, height=lines * STEP).encode(y=y)
    x = alt.X("start:Q", title="token position", scale=alt.Scale(domain=[0, reach], nice=False), axis=alt.Axis(tickMinStep=1))
    tips = [alt.Tooltip(f"{name}:N") for name in ("node", "start", "end", "tokens", "counted", "snapshots", "request")]
    states = [state for state in theme.STATES if state != "live"]
    legend = "snapshots (frame = active path)"
    frame = (
        base.transform_filter("datum.active && datum.end > datum.start")
        .mark_bar(height=STEP - 2, filled=False, stroke=theme.INK, strokeWidth=1.6, cornerRadius=3)
        .encode(x=x, x2="end:Q")
    )
    bars = (
        base.transform_filter("datum.end > datum.start")
        .mark_bar(height=STEP - 8, strokeWidth=1.4, cornerRadius=1)
        .encode(
            x=x,
            x2="end:Q",
            fill=theme.span_fill(states, legend, letters.legend(letters.STATES)),
            stroke=theme.span_stroke(states, legend, letters.legend(letters.STATES)),
            strokeDash=alt.condition("datum.state == 'missing'", alt.value([2, 2]), alt.value([1, 0])),
            tooltip=tips,
        )
    )
    deepest = int(largest(table, "depth"))
    indent = alt.X("depth:Q", axis=None, scale=alt.Scale(domain=[0, deepest + 4], nice=False, padding=0))
    names = base.mark_text(align="left", fontSize=10).encode(x=indent, text="label:N")
    made = alt.hconcat(
        names.properties(width=INDENT * (deepest + 4), title=_head("node")),
        alt.layer(frame, bars, letters.drawn(base, y)).properties(width=BARS),
        _column(base, "tokens", "tokens", 44),
        _column(base, "counted", "counted", 66),
        _column(base, "snapshots", "snapshots", 130, "left"),
        spacing=6,
    )
    more = f"; the newest, up to {tallest - LINES} more are not drawn" if tallest > LINES else ""
    return made.properties(
        title=alt.Title(title, subtitle=f"one row a node; bars are edges over token positions{more}"),
        description=f"{title}: an outline of up to {text_table.many(tallest, 'node')} with their edges, tokens, counted bytes and snapshots.",
    )


def _column(base: alt.Chart, field: str, title: str, width: int, align: Any = "right") -> alt.Chart:
    x = alt.value(0 if align == "left" else width)
    return base.mark_text(align=align, fontSize=10, limit=width).encode(x=x, text=f"{field}:N").properties(width=width, title=_head(title))


def _head(title: str) -> alt.Title:
    return alt.Title(title, fontSize=10, fontWeight="normal", offset=2)
