"""Requests as a waterfall: for each its phases in seconds, and its prompt as cached, matched but evaluated again, and new tokens. Text twin: a table."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from kvlab.recording import Recording
from kvlab.views import text_table, theme

PHASES = {"begin": theme.GREY, "prefill": theme.BLUE, "attach": theme.GREEN, "decode": theme.PURPLE, "close": "transparent"}
"""The phases in their order; closing is hollow."""

SORTS = {"restored": theme.GREEN, "evaluated again": theme.VERMILLION, "new": theme.BLUE}
"""What the tokens of a prompt are."""

ROWS = 40
"""At most this many requests are drawn: the last ones."""

STEP = 15


def phases_table(recording: Recording) -> pl.DataFrame:
    """Return a row a phase of a request: request, label, phase, `from` and `to` in milliseconds since the request began."""
    events = recording.events.select("kind", "request", "phase", "t", "source").filter(pl.col("request") > 0)
    began = events.filter(kind="request_began").group_by("request").agg(t0=pl.col("t").min())
    read = events.filter((pl.col("kind") == "bytes_read") & pl.col("source").ne_missing("twin") & pl.col("phase").is_in(list(PHASES)))
    ends = read.group_by("request", "phase").agg(to=pl.col("t").max()).join(began, on="request")
    order = pl.col("phase").replace_strict(list(PHASES), range(len(PHASES)), return_dtype=pl.Int64)
    rows = ends.with_columns(place=order).sort("request", "place").with_columns(to=1000 * (pl.col("to") - pl.col("t0")))
    return rows.with_columns(pl.col("to").shift(1).over("request").fill_null(0).alias("from")).select("request", "phase", "place", "from", "to")


def prompts_table(recording: Recording) -> pl.DataFrame:
    """Return a row a request and sort of token: request, sort, tokens, `from` and `to` as token offsets."""
    rows: list[dict[str, Any]] = []
    for row in recording.requests.select("request", "tokens", "matched", "cached").drop_nulls().iter_rows(named=True):
        cuts = (0, row["cached"], max(row["cached"], row["matched"]), row["tokens"])
        rows += [{"request": row["request"], "sort": sort, "from": cuts[at], "to": cuts[at + 1]} for at, sort in enumerate(SORTS) if cuts[at + 1] > cuts[at]]
    return pl.DataFrame(rows, schema={"request": pl.Int64, "sort": pl.String, "from": pl.Int64, "to": pl.Int64})


def waterfall_chart(recording: Recording) -> alt.HConcatChart:
    """Return the chart of requests: phases on the left, prompts on the right."""
    kept = recording.requests.get_column("request").tail(ROWS).to_list()
    phases, prompts = (table.filter(pl.col("request").is_in(kept)) for table in (phases_table(recording), prompts_table(recording)))
    if not prompts.height and not phases.height:
        return alt.hconcat(theme.nothing("there is no request")).properties(title="Requests", description="no requests")
    y = alt.Y("request:O", title="request")
    height = max(2, len(kept)) * STEP
    time = (
        alt.Chart(phases, width=330, height=height)
        .mark_bar(stroke=theme.INK, strokeWidth=0.7)
        .encode(
            x=alt.X("from:Q", title="ms since it began"),
            x2="to:Q",
            y=y,
            color=alt.Color("phase:N", title=None, scale=theme.scale(PHASES)),
            order="place:Q",
            tooltip=["request:N", "phase:N", "from:Q", "to:Q"],
        )
    )
    tokens = (
        alt.Chart(prompts, width=330, height=height)
        .mark_bar(stroke=theme.INK, strokeWidth=0.7)
        .encode(
            x=alt.X("from:Q", title="token of the prompt", axis=alt.Axis(tickMinStep=1)),
            x2="to:Q",
            y=alt.Y("request:O", title=None),
            color=alt.Color("sort:N", title=None, scale=theme.scale(SORTS)),
            tooltip=["request:N", "sort:N", "from:Q", "to:Q"],
        )
    )
    both: Any = alt.hconcat(time, tokens, spacing=24)
    drawn: alt.HConcatChart = both.resolve_scale(color="independent")
    return drawn.properties(
        title=alt.Title("Requests", subtitle="phases on the left, what of the prompt was restored on the right"),
        description=f"A waterfall of {len(kept)} requests: phases in milliseconds, and the prompt's tokens as restored, evaluated again, new.",
    )


def waterfall_text(recording: Recording, most: int = 30) -> str:
    """Return the requests as a table of text, with the reason for what was not reused."""
    counts = ("request", "tokens", "matched", "cached", "left", "generated")
    rows = recording.requests.iter_rows(named=True)
    cells = [(*(row[name] for name in counts), _ms(row["ttft_s"]), row["reason"] or "", row["label"] or "") for row in rows]
    titles = (*counts, "TTFT ms", "reason", "label")
    return text_table.columns(titles, text_table.shortened(cells, most), left=(7, 8))


def _ms(seconds: float | None) -> str:
    return "-" if seconds is None else f"{1000 * seconds:.1f}"
