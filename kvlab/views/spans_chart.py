"""Snapshot spans by layer: one panel a layer group, spans over token positions in lanes. Text twin: a line a group.

Lazy spans are hollow (0 bytes), owned ones filled, and each shows its letter; the small tick at a span's end is where its state can be restored.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from kvlab.recording import Moment, Recording
from kvlab.units import binary
from kvlab.views import letters, text_table, theme
from kvlab.views.spans_rows import FAR, ROWS, alive, group_labels, with_lanes
from kvlab.views.tables import largest

COLUMNS = ("snapshot", "node", "group", "lane", "start", "end", "state", "request", "born", "died")

LANES = 60
"""A panel draws at most this many lanes; it says how many more there are."""

STEP = 12
"""Pixels a lane."""

WIDTH = 720


def spans_table(recording: Recording, *, alive_only: bool = False) -> tuple[pl.DataFrame, int]:
    """Return the versions of spans that the chart draws, with lanes and group names, and how many were left out as too many.

    The latest `ROWS` versions stay; of them those that still exist with `alive_only`.
    """
    spans = recording.spans.filter(pl.col("died").is_null()) if alive_only else recording.spans
    # lanes of what is not drawn would cost the most in long runs; a snapshot's versions all stay, or it would change its lane
    latest = spans.sort("born", "snapshot").tail(ROWS).select("snapshot").unique()
    laned = with_lanes(spans.join(latest, on="snapshot", how="semi", maintain_order="left"))
    names = group_labels(recording.manifest.shape)
    drawn = laned.filter(pl.col("lane") < LANES).tail(ROWS)
    unnamed = pl.format("group {} ({})", "group", "layer")
    label = pl.col("group").replace_strict(names, default=unnamed, return_dtype=pl.String)
    counted = pl.col("counted").map_elements(binary, return_dtype=pl.String)
    shown = drawn.select(*COLUMNS, layers=label, counted=counted)
    return shown, spans.height - shown.height


def spans_chart(recording: Recording, at: alt.Parameter | None = None) -> alt.VConcatChart:
    """Return the chart of snapshot spans, moved by `at` (a parameter over `seq`); without it, the last moment."""
    table, left_out = spans_table(recording, alive_only=at is None)
    at = at or alt.param(name="at", value=FAR - 1)
    reach = int(largest(table, "end")) or 1
    table = letters.lettered(table, "state", letters.STATES, WIDTH / reach)
    groups = table.select("group", "layers").unique(maintain_order=True).sort("group")
    panels = [_panel(table, group, str(layers), str(at.name), reach) for group, layers in groups.iter_rows()]
    more = f"; {left_out} more spans are not drawn" if left_out else ""
    return (
        alt.vconcat(*(panels or [theme.nothing("there is no snapshot")]), spacing=10)
        .add_params(at)
        .properties(
            title=alt.Title("Snapshot spans by layer group", subtitle=f"one lane a branch; hollow = lazy, 0 bytes{more}"),
            description=f"Snapshot spans over token positions, one panel for each of {max(1, groups.height)} layer groups, coloured by state.",
        )
    )


def spans_text(moment: Moment, shape: dict[str, object] | None = None) -> str:
    """Return how many spans each layer group has at a moment, by state, and their bytes."""
    names = group_labels(shape)
    table = moment.spans.group_by("group", "layer").agg(
        *((pl.col("state") == state).sum().alias(state) for state in ("owned", "lazy", "view")), pl.col("counted").sum(), pl.col("retained").sum()
    )
    rows = [
        (
            names.get(row["group"], f"group {row['group']} ({row['layer']})"),
            row["owned"],
            row["lazy"],
            row["view"],
            binary(row["counted"]),
            binary(row["retained"]),
        )
        for row in table.sort("group").iter_rows(named=True)
    ]
    return f"snapshots after event {moment.seq}\n" + text_table.columns(("layers", "owned", "lazy", "view", "counted", "retained"), rows)


def _panel(table: pl.DataFrame, group: int, title: str, at: str, reach: int) -> alt.LayerChart:
    lanes = int(largest(table.filter(pl.col("group") == group), "lane")) + 1
    base = alt.Chart(table).transform_filter(f"datum.group == {group} && {alive(at)}")
    states = ["owned", "lazy", "view"]
    x = alt.X("start:Q", title="token position", scale=alt.Scale(domain=[0, reach], nice=False), axis=alt.Axis(tickMinStep=1))
    y = alt.Y("lane:Q", axis=None, scale=alt.Scale(domain=[-0.5, lanes - 0.5], reverse=True, nice=False, zero=False, padding=0))
    bars = base.mark_bar(height=STEP - 5, strokeWidth=1.2).encode(
        x=x,
        x2="end:Q",
        y=y,
        fill=theme.span_fill(states, "snapshots", letters.legend(letters.STATES)),
        stroke=theme.span_stroke(states, "snapshots", letters.legend(letters.STATES)),
        tooltip=[alt.Tooltip(f"{name}:N") for name in ("snapshot", "node", "layers", "start", "end", "state", "counted", "request", "born")],
    )
    ends = base.mark_tick(orient="vertical", height=STEP - 3, thickness=2, color=theme.INK).encode(x=alt.X("end:Q", title="token position"), y=y)
    return alt.LayerChart(layer=[bars, ends, letters.drawn(base, y)]).properties(
        width=WIDTH, height=lanes * STEP, title=alt.Title(title, fontSize=11, fontWeight="normal")
    )
