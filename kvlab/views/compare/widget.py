# pyright: standard
"""The comparison's widget: all moments sent once as intervals over the requests; moving along them needs no kernel."""

from __future__ import annotations

from typing import Any

import anywidget
import traitlets

from kvlab.recording.policy_words import policy_words
from kvlab.views.compare.comparison import OWNERS, Comparison
from kvlab.views.dashboard import page
from kvlab.views.outline_rows import OutlineRow

REQUESTS = 200
"""At most so many requests can be gone to, the last ones; comparing tries costs time for each."""


class ComparisonView(anywidget.AnyWidget):
    """Two recordings in a page.

    Attributes:
        request: The request after which both are shown.
    """

    _esm = page.joined("core", "compare", "compare_widget")
    _css = page.style()
    _data = traitlets.Dict().tag(sync=True)
    request = traitlets.Int(0).tag(sync=True)


def view(comparison: Comparison) -> ComparisonView:
    """Return the widget of a comparison."""
    return ComparisonView(_data=page_data(comparison), request=comparison.last)


def page_data(comparison: Comparison) -> dict[str, Any]:
    """Return what the page draws: requests, differences by owner, and rows of both tries as intervals [born, died) over places of requests."""
    table = comparison.requests.drop_nulls(["cached_a", "cached_b"]).tail(REQUESTS)
    rows: list[dict[str, Any]] = []
    alive: dict[tuple[Any, ...], dict[str, Any]] = {}
    for at, request in enumerate(table.get_column("request")):
        now: dict[tuple[Any, ...], dict[str, Any]] = {}
        for place, row in enumerate(comparison.tries(request)):
            made = {"place": place, "depth": row.depth, "side": row.side, "a": _node(row.a), "b": _node(row.b)}
            key = (place, row.depth, row.side, *_key(row.a), *_key(row.b))
            now[key] = alive.pop(key, None) or _begun(rows, made, at)
        for gone in alive.values():
            gone["died"] = at
        alive = now
    return {
        **{tag.lower(): f"{side.manifest.model}, {side.manifest.workload}, {policy_words(side.manifest.policy)}" for tag, side in comparison.sides},
        "policy": comparison.policy_lines,
        "requests": [
            {"request": row["request"], "label": row["label_a"] or "", "tokens": row["tokens_a"], "a": row["cached_a"], "b": row["cached_b"]}
            for row in table.iter_rows(named=True)
        ],
        "differences": {name: table.get_column(f"{name}_difference").to_list() for name in OWNERS},
        "rows": rows,
    }


def _begun(rows: list[dict[str, Any]], made: dict[str, Any], at: int) -> dict[str, Any]:
    rows.append(made | {"born": at, "died": -1})
    return rows[-1]


def _node(row: OutlineRow | None) -> dict[str, Any] | None:
    return None if row is None else {"node": row.node, "start": row.start, "end": row.end, "state": row.state, "counted": row.counted}


def _key(row: OutlineRow | None) -> tuple[Any, ...]:
    return () if row is None else (row.node, row.start, row.end, row.state, row.counted)
