"""Bytes by owner over the requests: stacked steps, the budget, and what the twin predicted. Text twin: a table.

The snapshots lie at the bottom of the stack, since the budget counts them (and the live buffers above them, under `resident`):
so the budget line can be compared with the top of what it counts. Weights are named in the title and not drawn: they would dwarf the rest.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from kvlab.recording import Recording
from kvlab.units import binary
from kvlab.views import text_table, theme
from kvlab.views.tables import axis_unit, last_bytes, readings

STACK = ("snapshots", "live", "unattributed", "pool")
"""The owners that are drawn, from the bottom up."""

LINES = {"budget": [6, 3], "counted by the policy": [1, 0]}
"""The lines over the stack, with their dashes."""

PREDICTED = "counted as predicted by the twin"
"""The diamonds over the stack: a prediction is made for a request's end, so it is drawn only there."""

WIDTH, HEIGHT = 640, 260


def chart_table(table: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Return the one table of the chart, made of `readings`, in units of the axis, and that unit's name.

    A last row repeats the last reading at the end of its request, so that its step has a width.
    """
    tops = table.select(pl.max_horizontal(pl.sum_horizontal(pl.col(*STACK).clip(0)), "counted", "predicted").max()).item()
    unit, size = axis_unit(float(tops or 0))
    drawn = table.select(
        "seq",
        "request",
        "phase",
        "x",
        *((pl.col(name) / size).round(4) for name in STACK),
        (pl.col("budget") / size).round(4),
        (pl.col("counted") / size).round(4).alias("counted by the policy"),
        (pl.col("predicted") / size).round(4).alias(PREDICTED),
    )
    drawn = drawn.with_columns(middle=pl.when(pl.col(PREDICTED).is_not_null()).then((pl.col("x") + pl.col("request") + 0.5) / 2))
    end = drawn.tail(1).with_columns(pl.lit(None).alias(PREDICTED), x=pl.col("request") + 0.5)
    return pl.concat([drawn, end], how="vertical_relaxed"), unit


def bytes_chart(recording: Recording, at: alt.Parameter | None = None) -> alt.LayerChart:
    """Return the chart of bytes by owner over the requests.

    Args:
        recording: What is drawn.
        at: The shared moment, a parameter over `seq`; a rule marks it.
    """
    read = readings(recording)
    table, unit = chart_table(read)
    stack = table.select(pl.sum_horizontal(pl.col(*STACK).clip(0)).max()).item() or 1.0
    budget = table.get_column("budget").drop_nulls()
    budget_top = float(budget.max() or 0)  # pyright: ignore[reportArgumentType]
    budget_fits = 0 < budget_top <= 3 * stack
    top = 1.08 * max(stack, *(float(table.get_column(name).max() or 0) for name in ("counted by the policy", PREDICTED)), budget_top if budget_fits else 0)  # pyright: ignore[reportArgumentType]
    lines = [name for name in LINES if table.get_column(name).null_count() < table.height and (name != "budget" or budget_fits)]
    last = int(table.get_column("request").max() or 0)  # pyright: ignore[reportArgumentType]
    first = float(table.get_column("x").min() or 0)  # pyright: ignore[reportArgumentType]

    base = alt.Chart(table)
    x = alt.X("x:Q", title="request", scale=alt.Scale(domain=[first, last + 0.5], nice=False), axis=alt.Axis(grid=False, tickMinStep=1, labelExpr="datum.value == 0 ? 'load' : datum.label"))
    y = alt.Y("value:Q", title=unit, scale=alt.Scale(domain=[0, top], nice=False, clamp=True))
    areas = (
        base.transform_fold(list(STACK), as_=["owner", "value"])
        .transform_calculate(rank=f"indexof({list(STACK)}, datum.owner)")
        .mark_area(interpolate="step-after", fillOpacity=0.85)
        .encode(
            x=x,
            y=y.stack("zero"),
            color=alt.Color("owner:N", title="held by", scale=theme.scale({name: theme.OWNERS[name] for name in STACK})),
            order=alt.Order("rank:Q"),
            tooltip=[alt.Tooltip("owner:N", title="held by"), alt.Tooltip("request:Q"), alt.Tooltip("phase:N"), alt.Tooltip("value:Q", title=unit, format=",.2f")],
        )
    )
    line = base.transform_fold(lines, as_=["line", "value"]).transform_filter("isValid(datum.value)")
    dashes = alt.StrokeDash("line:N", title=None, scale=alt.Scale(domain=lines, range=[LINES[name] for name in lines]))
    halo = line.mark_line(interpolate="step-after", color=theme.HALO, strokeWidth=4.5).encode(x=x, y=y, detail="line:N")
    core = line.mark_line(interpolate="step-after", color=theme.CORE, strokeWidth=1.8).encode(x=x, y=y, strokeDash=dashes)
    layers: list[alt.Chart] = [areas, halo, core]
    if table.get_column(PREDICTED).null_count() < table.height:
        diamonds = base.transform_filter("isValid(datum.middle)").transform_calculate(mark=f"'{PREDICTED}'").mark_point(filled=True, size=55, fill=theme.CORE, stroke=theme.HALO, strokeWidth=1.2, opacity=1)
        shape = alt.Shape("mark:N", title=None, scale=alt.Scale(domain=[PREDICTED], range=["diamond"]), legend=alt.Legend(symbolFillColor=theme.INK))
        layers.append(diamonds.encode(x="middle:Q", y=alt.Y(f"{PREDICTED}:Q", title=unit), shape=shape))
    if budget_fits:
        layers.append(
            base.transform_filter("isValid(datum.budget)")
            .transform_window(place="row_number()")
            .transform_filter("datum.place == 1")
            .mark_text(align="left", baseline="bottom", dx=4, dy=-4)
            .encode(x=alt.value(0), y=alt.Y("budget:Q", title=unit), text=alt.value(f"budget {binary(last_bytes(read, 'budget'))}"))
        )
    if at is not None:
        layers.append(base.transform_filter(f"datum.seq == {at.name}").transform_aggregate(x="min(x)").mark_rule(color=theme.INK, strokeWidth=2).encode(x=x))
    made = alt.layer(*layers)
    if at is not None:
        made = made.add_params(at)
    beside = [f"weights {binary(last_bytes(read, 'weights'))} lie below and are not drawn"]
    if budget_top and not budget_fits:
        beside.append(f"budget {binary(last_bytes(read, 'budget'))} is far above")
    return made.properties(
        width=WIDTH,
        height=HEIGHT,
        title=alt.Title(f"Bytes by owner over the requests, in {unit}", subtitle="; ".join(beside)),
        description=description(recording),
    )


def description(recording: Recording) -> str:
    """Return what the chart shows in one sentence, for readers who cannot see it."""
    read = readings(recording)
    return (
        f"Stacked areas of bytes held by snapshots, live buffers, unattributed and pool over {recording.requests.height} requests. At the end: "
        + ", ".join(f"{name} {binary(last_bytes(read, name))}" for name in STACK)
        + f"; budget {binary(last_bytes(read, 'budget'))}; weights {binary(last_bytes(read, 'weights'))} not drawn."
    )


def bytes_text(recording: Recording, most: int = 20) -> str:
    """Return the bytes at each request's end as a table of text; at most `most` rows, the middle ones left out first."""
    table, read = recording.requests, readings(recording)
    owners = ("counted", "predicted_counted", "snapshots", "live", "unattributed", "pool", "active")
    tops = table.select(pl.max_horizontal(pl.col(*owners[:-1]).max())).item() if table.height else 0
    unit, size = axis_unit(float(tops or 0))
    rows = [[row["request"], row["label"], *(None if row[name] is None else f"{row[name] / size:.2f}" for name in owners)] for row in table.iter_rows(named=True)]
    head = f"bytes at each request's end, in {unit}; weights {binary(last_bytes(read, 'weights'))}, budget {binary(last_bytes(read, 'budget'))}"
    titles = ("request", "label", "counted", "predicted", "snapshots", "live", "unattributed", "pool", "active")
    return head + "\n" + text_table.columns(titles, text_table.shortened(rows, most), left=(1,))
