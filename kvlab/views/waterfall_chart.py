"""Requests as a waterfall: for each its phases, and its prompt as restored, matched but evaluated again, new, and not evaluated tokens. Text twin: a table.

A twin has no seconds, so its phases are as long as they have events.
"""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from kvlab.events import RequestBegan
from kvlab.recording import Recording
from kvlab.views import letters, text_table, theme

PHASES = {"begin": theme.GREY, "prefill": theme.BLUE, "attach": theme.GREEN, "decode": theme.PURPLE, "close": "transparent"}
"""The phases in their order; closing is hollow."""

PHASE_LETTERS = {"begin": "B", "prefill": "P", "attach": "A", "decode": "D", "close": "C"}

SORTS = {"restored": theme.GREEN, "evaluated again": theme.VERMILLION, "new": theme.BLUE, "not evaluated": "transparent"}
"""What the tokens of a prompt are; those that a cancelled request did not come to are hollow."""

SORT_LETTERS = {"restored": "R", "evaluated again": "E", "new": "N"}

ROWS = 40
"""At most this many requests are drawn: the last ones."""

STEP, WIDTH = 15, 330

NONE = "\N{EN DASH}"
"""Shown where there are no seconds."""

NO_SECONDS = "a twin has no seconds"


def phases_table(recording: Recording) -> pl.DataFrame:
    """Return a row a phase of a request: request, phase, place, `start` and `end` since the request began: in milliseconds, of a twin in events.

    They are null where the recording leaves out events of the phases.
    """
    clock, unit = ("t", 1000) if recording.has_seconds else ("seq", 1)
    begun = {event.request: getattr(event, clock) for event in reversed(recording.replay(RequestBegan))}
    began = pl.DataFrame({"request": list(begun), "begun": list(begun.values())}, schema={"request": pl.Int64, "begun": recording.readings.schema[clock]})
    read = recording.readings.filter((pl.col("request") > 0) & pl.col("phase").is_in(list(PHASES)))
    ends = read.group_by("request", "phase").agg(end=pl.col(clock).max()).join(began, on="request")
    order = pl.col("phase").replace_strict(list(PHASES), range(len(PHASES)), return_dtype=pl.Int64)
    rows = ends.with_columns(place=order).sort("request", "place").with_columns(end=unit * (pl.col("end") - pl.col("begun")))
    placed = rows.with_columns(pl.col("end").shift(1).over("request").fill_null(0).alias("start")).select("request", "phase", "place", "start", "end")
    return placed.with_columns(pl.lit(None, placed.schema[name]).alias(name) for name in ("start", "end")) if recording.manifest.left_out else placed


def prompts_table(recording: Recording) -> pl.DataFrame:
    """Return a row a request and sort of token: request, sort, `start` and `end` as token offsets."""
    rows: list[dict[str, Any]] = []
    known = recording.requests.select("request", "tokens", "matched", "cached", "evaluated").drop_nulls(["tokens", "matched", "cached"])
    for row in known.iter_rows(named=True):
        cached, tokens = row["cached"], row["tokens"]
        reached = tokens if row["evaluated"] is None else min(tokens, cached + row["evaluated"])
        cuts = (0, cached, min(reached, max(cached, row["matched"])), reached, tokens)
        rows += [{"request": row["request"], "sort": sort, "start": cuts[at], "end": cuts[at + 1]} for at, sort in enumerate(SORTS) if cuts[at + 1] > cuts[at]]
    return pl.DataFrame(rows, schema={"request": pl.Int64, "sort": pl.String, "start": pl.Int64, "end": pl.Int64})


def waterfall_chart(recording: Recording, at: int | None = None) -> alt.HConcatChart:
    """Return the chart of requests: phases on the left, prompts on the right; up to event `at`, nothing of what comes after it."""
    if at is not None:
        recording = recording.until(at)
    kept = recording.requests.get_column("request").tail(ROWS).to_list()
    phases, prompts = (table.filter(pl.col("request").is_in(kept)) for table in (phases_table(recording).drop_nulls(), prompts_table(recording)))
    if not prompts.height and not phases.height:
        return alt.hconcat(theme.nothing("there is no request")).properties(title="Requests", description="no requests")
    height = max(2, len(kept)) * STEP
    unit = "ms" if recording.has_seconds else "events"
    time = _bars(phases, "phase", PHASES, PHASE_LETTERS, f"{unit} since it began", height)
    tokens = _bars(prompts, "sort", SORTS, SORT_LETTERS, "token of the prompt", height)
    both: Any = alt.hconcat(time, tokens, spacing=24)
    drawn: alt.HConcatChart = both.resolve_scale(color="independent")
    lengths = "and events of phases are left out" if recording.manifest.left_out else "so phases are as long as they have events"
    notes = "" if recording.has_seconds else f"; {NO_SECONDS}, {lengths}"
    cancelled = [request for request, stop in recording.requests.select("request", "stop").iter_rows() if stop == "cancelled" and request in kept]
    if cancelled:
        notes += f"; cancelled: {', '.join(map(str, cancelled[:12]))}{' …' if len(cancelled) > 12 else ''}"
    measure = "in milliseconds" if recording.has_seconds else "in events"
    return drawn.properties(
        title=alt.Title("Requests", subtitle=f"phases on the left, what of the prompt was restored on the right{notes}"),
        description=f"A waterfall of requests, {len(kept)}: phases {measure}, and the prompt's tokens as {', '.join(SORTS)}{notes}.",
    )


def _bars(table: pl.DataFrame, of: str, colours: dict[str, str], shown: dict[str, str], title: str, height: int) -> alt.LayerChart:
    hollow = [word for word, colour in colours.items() if colour == "transparent"]
    reach = max(1e-9, *(table.get_column("end").to_list() or [1]))
    base = alt.Chart(letters.lettered(table, of, shown, WIDTH / reach, hollow=hollow), width=WIDTH, height=height)
    y = alt.Y("request:O", title="request")
    x = alt.X("start:Q", title=title, scale=alt.Scale(domain=[0, reach], nice=False), axis=alt.Axis(tickMinStep=1 if of == "sort" else 0))
    bars = base.mark_bar(stroke=theme.INK, strokeWidth=0.7).encode(
        x=x,
        x2="end:Q",
        y=y,
        color=alt.Color(f"{of}:N", title=None, scale=theme.scale(colours), legend=letters.legend(shown)),
        tooltip=["request:N", f"{of}:N", "start:Q", "end:Q"],
    )
    return alt.LayerChart(layer=[bars, letters.drawn(base, y, title)])


def waterfall_text(recording: Recording, most: int = 30) -> str:
    """Return the requests as a table of text, with the reason for what was not reused and whether they were cancelled."""
    counts = ("request", "tokens", "matched", "cached", "left", "evaluated", "generated")
    rows = recording.requests.iter_rows(named=True)
    cells = [(*(row[name] for name in counts), row["stop"] or "", _ms(row["ttft_s"]), row["reason"] or "", row["label"] or "") for row in rows]
    titles = (*counts, "ended by", "TTFT ms", "reason", "label")
    table = text_table.columns(titles, text_table.shortened(cells, most), left=(7, 9, 10))
    return table if recording.has_seconds else f"{table}\n{NO_SECONDS}"


def _ms(seconds: float | None) -> str:
    return NONE if seconds is None else f"{1000 * seconds:.1f}"
