# pyright: standard
"""The peer of `bench_views`: a trie drawn by Altair, moved by a param that a slider in the page is bound to, so no kernel is asked either."""

from __future__ import annotations

from typing import Any

from kvlab.recording import Recording
from kvlab.views import theme
from tests.bench.views import synthetic


def altair_trie(nodes: int) -> Any:
    """Return the trie of `synthetic(nodes)` as Altair's own widget (a `JupyterChart`), on a canvas, with its slider."""
    import altair as alt

    recording = synthetic(nodes)
    last = int(recording.events.item(-1, "seq"))
    at = alt.param(name="at", value=last, bind=alt.binding_range(min=0, max=last, step=1, name="at"))
    with alt.data_transformers.disable_max_rows():
        base = alt.Chart(alt.Data(values=interval_rows(recording)), width=560, height=360)
        chart = (
            base.add_params(at)
            .transform_filter("datum.born <= at && at < datum.died")
            .mark_bar(height=2)
            .encode(x=alt.X("start:Q"), x2="end:Q", y=alt.Y("place:Q", axis=None), color=alt.value(theme.GREEN))
        )
        return alt.JupyterChart(chart, embed_options={"renderer": "canvas", "actions": False})


def interval_rows(recording: Recording) -> list[dict[str, Any]]:
    """Return the rows of the chart: every version of a node with a place that it keeps, `born` and `died`."""
    table = recording.nodes.select("node", "start", "end", "born", "died").fill_null(2**53)
    return [row | {"place": row["node"]} for row in table.iter_rows(named=True)]
