"""Bytes by owner over the requests: stacked steps, the budget, and what the twin predicted.

The snapshots lie at the bottom of the stack, since the budget counts them (and the live buffers above them, under `resident`):
so the budget line can be compared with the top of what it counts. Weights are named in the title and not drawn: they would dwarf the rest.
"""

from __future__ import annotations

import altair as alt
import polars as pl

from kvlab.recording import Recording
from kvlab.units import binary, unit_for
from kvlab.views import text_table, theme
from kvlab.views.tables import largest, last_bytes, readings

STACK = ("snapshots", "live", "unattributed", "pool")
"""The owners that are drawn, from the bottom up."""

COUNTED = "counted by the policy"
PREDICTED = "counted as predicted by the twin"
"""The diamonds over the stack: a prediction is made for a request's end, so it is drawn only there."""

HELD = "active less weights"
GROWN = "footprint since the first reading"
"""The process's footprint is far above its arrays, so what it grew by is drawn; its last value is named."""

LINES = {"budget": [6, 3], COUNTED: [1, 0], HELD: [2, 2], GROWN: [4, 2, 1, 2]}
"""The lines over the stack, with their dashes."""

FLAT = 2
"""A pool of more than so many times all the rest is named and not drawn."""

NAME_ROOM = 13
"""A band of at least so many pixels at its right end has its owner's name in it."""

FAR_ABOVE = 3
"""A budget of more than so many times the stack is named and not drawn, a footprint cut off there: they would press the rest flat."""

WIDTH, HEIGHT = 720, 270


def bytes_chart(recording: Recording, at: alt.Parameter | None = None) -> alt.LayerChart:
    """Return the chart of bytes by owner over the requests.

    Args:
        recording: What is drawn.
        at: The shared moment, a parameter over `seq`; a rule marks it.
    """
    read = readings(recording)
    if not read.height:
        words = "no bytes were read"
        layers, title, about = [theme.nothing(words)], alt.Title("Bytes by owner"), words
    else:
        owners = drawn_owners(read)
        table, unit = chart_table(read, owners)
        budget_drawn = 0 < largest(table, "budget") <= FAR_ABOVE * _stack_top(table, owners)
        layers = _layers(table, unit, f"budget {binary(last_bytes(read, 'budget'))}" if budget_drawn else "", owners)
        title, about = _title(read, unit, owners, budget_drawn=budget_drawn), description(recording)
        if at is not None:
            moment = alt.Chart(table).transform_filter(f"datum.seq == {at.name}").transform_aggregate(x="min(x)")
            layers.append(moment.mark_rule(color=theme.INK, strokeWidth=2).encode(x=_x(table)))
    made = alt.LayerChart(layer=layers).properties(width=WIDTH, title=title, description=about)
    return made if at is None else made.add_params(at)


def drawn_owners(read: pl.DataFrame) -> tuple[str, ...]:
    """Return whose bytes are stacked: without the pool where it would press the rest flat."""
    rest = tuple(name for name in STACK if name != "pool")
    most = max(_stack_top(read, rest), float(read.select((pl.col("active") - pl.col("weights")).max()).item() or 0))
    return rest if largest(read, "pool") > FLAT * most else STACK


def chart_table(read: pl.DataFrame, owners: tuple[str, ...] = STACK) -> tuple[pl.DataFrame, str]:
    """Return the one table of the chart, made of `readings`, in units of the axis (for what is drawn of `owners`), and that unit's name.

    A last row repeats the last reading at the end of its request, so that its step has a width.
    """
    unit = unit_for(max(_stack_top(read, owners), largest(read, "counted"), largest(read, "predicted")))
    named = {name: pl.col(name) for name in (*STACK, "budget")} | {COUNTED: pl.col("counted"), PREDICTED: pl.col("predicted")}
    named |= {HELD: (pl.col("active") - pl.col("weights")).clip(0), GROWN: _grown()}
    values = [(column / unit.size).round(4).alias(name) for name, column in named.items()]
    table = read.select("seq", "request", "phase", "x", *values)
    middle = pl.when(pl.col(PREDICTED).is_not_null()).then((pl.col("x") + pl.col("request") + 0.5) / 2)
    table = table.with_columns(middle=middle)
    end = table.tail(1).with_columns(pl.lit(None).alias("middle"), x=pl.col("request") + 0.5)
    return pl.concat([table, end], how="vertical_relaxed"), unit.name


def description(recording: Recording) -> str:
    """Return what the chart shows in one sentence, for readers who cannot see it."""
    read = readings(recording)
    over = text_table.many(recording.requests.height, "request")
    return (
        f"Stacked areas of bytes held by snapshots, live buffers, unattributed and pool over {over}. At the end: "
        + ", ".join(f"{name} {binary(last_bytes(read, name))}" for name in STACK)
        + f"; budget {binary(last_bytes(read, 'budget'))}; weights {binary(last_bytes(read, 'weights'))} not drawn{_footprint(read)}."
    )


def _grown() -> pl.Expr:
    """Return what the process's footprint grew by since it was first read; read at some moments only, it stays between them."""
    footprint = pl.col("footprint")
    return (footprint.forward_fill() - footprint.drop_nulls().first()).clip(0)


def _footprint(read: pl.DataFrame) -> str:
    last = last_bytes(read, "footprint")
    return f"; footprint of the process {binary(last)}" if last else ""


def _stack_top(table: pl.DataFrame, owners: tuple[str, ...]) -> float:
    return float(table.select(pl.sum_horizontal(pl.col(*owners).clip(0)).max()).item() or 0)


def _title(read: pl.DataFrame, unit: str, owners: tuple[str, ...], *, budget_drawn: bool) -> alt.Title:
    notes = [f"weights {binary(last_bytes(read, 'weights'))} lie below and are not drawn"]
    if "pool" not in owners:
        notes.append(f"pool, up to {binary(largest(read, 'pool'))}, not drawn")
    if not budget_drawn and (budget := last_bytes(read, "budget")):
        notes.append(f"budget {binary(budget)} is far above")
    if footprint := _footprint(read):
        notes.append(footprint.removeprefix("; "))
    return alt.Title(f"Bytes by owner over the requests, in {unit}", subtitle="; ".join(notes))


def _x(table: pl.DataFrame) -> alt.X:
    domain = [float(table.item(0, "x")), float(table.item(-1, "x"))]
    axis = alt.Axis(grid=False, tickMinStep=1, labelExpr="datum.value == 0 ? 'load' : datum.label")
    return alt.X("x:Q", title="request", scale=alt.Scale(domain=domain, nice=False), axis=axis)


def _layers(table: pl.DataFrame, unit: str, budget: str, owners: tuple[str, ...]) -> list[alt.Chart]:
    """Return areas with their owners' names, lines and diamonds; `budget` is the label of the budget line, "" when it is not drawn."""
    highest = max(_stack_top(table, owners), largest(table, COUNTED), largest(table, PREDICTED), largest(table, HELD))
    top = 1.08 * max(highest, largest(table, "budget") if budget else 0, min(largest(table, GROWN), FAR_ABOVE * highest))
    base = alt.Chart(table, height=HEIGHT)
    x = _x(table)
    y = alt.Y("value:Q", title=unit, scale=alt.Scale(domain=[0, top or 1], nice=False, clamp=True))
    layers = [_areas(base, x, y, unit, owners), *_names(base, table, owners, top or 1)]

    lines = [name for name in LINES if table.get_column(name).null_count() < table.height and (budget or name != "budget")]
    # four of them in one row would be wider than the chart
    legend = alt.Legend(columns=2)
    dashes = alt.StrokeDash("line:N", title=None, legend=legend, scale=alt.Scale(domain=lines, range=[LINES[name] for name in lines]))
    folded = base.transform_fold([*lines], as_=["line", "value"]).transform_filter("isValid(datum.value)")
    layers.append(folded.mark_line(interpolate="step-after", color=theme.HALO, strokeWidth=4.5).encode(x=x, y=y, detail="line:N"))
    layers.append(folded.mark_line(interpolate="step-after", color=theme.CORE, strokeWidth=1.8).encode(x=x, y=y, strokeDash=dashes))

    if table.get_column(PREDICTED).null_count() < table.height:
        ends = base.transform_filter("isValid(datum.middle)").transform_calculate(mark=f"'{PREDICTED}'")
        shape = alt.Shape("mark:N", title=None, scale=alt.Scale(domain=[PREDICTED], range=["diamond"]))
        # a colour that a legend may show on both papers comes through a scale; a mark's own is taken over as it is
        fill = alt.Fill("mark:N", title=None, scale=alt.Scale(domain=[PREDICTED], range=[theme.INK]))
        diamonds = ends.mark_point(filled=True, size=60, stroke=theme.HALO, strokeWidth=1.4, opacity=1)
        layers.append(diamonds.encode(x="middle:Q", y=alt.Y(f"{PREDICTED}:Q", title=unit), shape=shape, fill=fill))
    if budget:
        first = base.transform_filter("isValid(datum.budget)").transform_window(place="row_number()").transform_filter("datum.place == 1")
        label = first.mark_text(align="left", baseline="bottom", dx=4, dy=-4)
        layers.append(label.encode(x=alt.value(0), y=alt.Y("budget:Q", title=unit), text=alt.value(budget)))
    return layers


def _names(base: alt.Chart, table: pl.DataFrame, owners: tuple[str, ...], top: float) -> list[alt.Chart]:
    """Return the owners' names at the right end of their bands, where these are high enough."""
    once = base.transform_aggregate(rows="count()")
    made: list[alt.Chart] = []
    below = 0.0
    for name in owners:
        held = max(0.0, float(table.item(-1, name) or 0))
        if held * HEIGHT / top >= NAME_ROOM:
            middle = HEIGHT - (below + held / 2) * HEIGHT / top
            # lines and narrow steps cross it: dark within a white halo
            for ink, halo in ((theme.HALO, 3), (theme.CORE, 0)):
                words = once.mark_text(align="right", dx=-8, baseline="middle", fontWeight="bold", color=ink, stroke=ink, strokeWidth=halo)
                made.append(words.encode(x=alt.value(WIDTH), y=alt.value(middle), text=alt.value(name)))
        below += held
    return made


def _areas(base: alt.Chart, x: alt.X, y: alt.Y, unit: str, owners: tuple[str, ...]) -> alt.Chart:
    folded = base.transform_fold(list(owners), as_=["owner", "value"]).transform_calculate(rank=f"indexof({list(owners)}, datum.owner)")
    tips = [alt.Tooltip("owner:N", title="held by"), alt.Tooltip("request:Q"), alt.Tooltip("phase:N"), alt.Tooltip("value:Q", title=unit, format=",.2f")]
    return folded.mark_area(interpolate="step-after", fillOpacity=0.85).encode(
        x=x,
        y=y.stack("zero"),
        color=alt.Color("owner:N", title="held by", scale=theme.scale({name: theme.OWNERS[name] for name in owners})),
        order=alt.Order("rank:Q"),
        tooltip=tips,
    )
