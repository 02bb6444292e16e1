"""What a probe saw from outside, as text and as a chart: the size that the server lists, what its processes hold, swap in use, signs of life, warnings.

All bytes of a table are in the unit that its header names. Lines of the chart differ by their dashes as well as by their colours; one that has no figure, or
is 0 throughout, is not drawn.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from kvlab.events import Listed, Warned
from kvlab.probe import request_rows, sample_rows, sign_rows
from kvlab.recording import Recording
from kvlab.units import MIB, binary, unit_for
from kvlab.views import text_table, theme
from kvlab.views.tables import largest

BYTES = ("size", "footprint", "rss", "mapped", "swap_used", "swapped_in", "swapped_out", "available")
"""Columns of bytes."""

_REQUEST = ("request", "label", "context", "concurrency", "tokens", "cached", "generated", "stop", "ttft_s", "listed", "runner_pid")
_SAMPLE = ("t", "listed", "context", "runner_pid")
_MOST = 40
"""Rows that are shown; the recording has all."""


def outside_text(recording: Recording) -> str:
    """Return a probe's recording as text, without a verdict."""
    made = recording.manifest
    server = f"server {made.origin.get('server_version') or 'of unknown version'} on {made.origin.get('server', 'this machine')}"
    sent = recording.requests.height > 0
    rows = request_rows(recording) if sent else sample_rows(recording)
    parts = [
        f"{server}, port {made.origin.get('port')}; {_model(recording)}",
        _table(rows, _REQUEST if sent else _SAMPLE),
        _signs(recording),
        _warnings(recording),
    ]
    return "\n\n".join(part for part in parts if part)


def _model(recording: Recording) -> str:
    listed = [event.count for event in recording.replay(Listed) if isinstance(event, Listed)]
    none = recording.manifest.model == "unknown" and listed and not max(listed)
    return "no model is loaded" if none else f"model {recording.manifest.model}"


def _table(rows: pl.DataFrame, columns: tuple[str, ...]) -> str:
    # of a small process, too: what the machine has left is in the same unit
    unit = unit_for(max(4 * MIB, *(largest(rows, name) for name in ("size", "footprint"))))
    columns = tuple(name for name in columns if rows.get_column(name).null_count() < rows.height)
    # what was not read, or never was above 0, takes no room; the recording has it
    shown = tuple(name for name in BYTES if rows.get_column(name).sum())
    cells = [
        [*(_cell(_label(row) if name == "label" else row[name]) for name in columns), *(unit.shown(row[name]) for name in shown)]
        for row in rows.iter_rows(named=True)
    ]
    titles = [*columns, *(f"{name} {unit.name}" for name in shown)]
    return text_table.columns(titles, text_table.shortened(cells, _MOST), left=(columns.index("label"),) if "label" in columns else ())


def _label(row: dict[str, Any]) -> str | None:
    """Return what a request is called; of something done instead of one what it was, in brackets."""
    signs: list[str] = row["signs"] or []
    action = next((sign.removesuffix("_asked") for sign in signs if sign in ("unload_asked", "restart_asked")), "left out")
    return row["label"] or (f"({action})" if row["stop"] is None else None)


def _cell(value: Any) -> object:
    return f"{value:.2f}" if isinstance(value, float) else value


def _signs(recording: Recording) -> str:
    rows = sign_rows(recording).filter(~pl.col("state").is_in(["settled", "answering"]))
    lines = [_sign(row) for row in rows.iter_rows(named=True)]
    if len(lines) > _MOST:
        lines = [*lines[: _MOST // 2], f"  … {len(lines) - _MOST} more in the recording", *lines[-(_MOST // 2) :]]
    return "\n".join(["also seen:", *lines]) if lines else ""


def _sign(row: dict[str, Any]) -> str:
    where = f"request {row['request']}" if row["request"] else f"at {row['t']:.1f} s"
    whose = ", ".join(words for words in (row["model"], f"process {row['pid']}" if row["pid"] is not None else "") if words)
    waited = f" ({row['seconds']:.1f} s)" if row["seconds"] else ""
    return f"  {where}: {row['state']}{f' ({whose})' if whose else ''}: {row['message']}{waited}"


def _warnings(recording: Recording) -> str:
    messages = dict.fromkeys(event.message for event in recording.replay(Warned) if isinstance(event, Warned))
    return "\n".join(f"warning: {message}" for message in list(messages)[:_MOST])


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
