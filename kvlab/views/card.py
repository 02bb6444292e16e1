"""The summary of a recording as text: what ran, under which policy, who holds how many bytes at the end, and the verdict."""

from __future__ import annotations

from typing import Any

import polars as pl

from kvlab.findings import Findings
from kvlab.recording import Recording
from kvlab.recording.caveats import notes
from kvlab.recording.policy_words import policy_words
from kvlab.units import Unit, binary, unit_for
from kvlab.views import text_table
from kvlab.views.tables import largest, last_bytes, readings


def summary(recording: Recording) -> list[tuple[str, str]]:
    """Return the card's lines as (name, words); every figure with its unit."""
    manifest, read, requests = recording.manifest, readings(recording), recording.requests
    if not read.height and recording.observed.height:
        return _seen_from_outside(recording)
    held = {name: _bytes(read, name) for name in ("weights", "counted", "snapshots", "live", "unattributed", "pool", "active", "budget")}
    lines = [
        *(("incomplete", words) for words in recording.warnings),
        *notes(manifest),
        ("model", str(manifest.model)),
        ("policy", policy_words(manifest.policy)),
        ("workload", f"{manifest.workload}: {requests.height} request{'' if requests.height == 1 else 's'}, {_tokens(recording)}"),
        ("at the end", f"counted {held['counted']} of a budget of {held['budget']}, live {held['live']}, weights {held['weights']}"),
        ("allocator", f"active {held['active']}, of it unattributed {held['unattributed']}; pool {held['pool']}"),
    ]
    warnings = int(requests.get_column("warnings").list.len().sum() or 0)
    return [*lines, ("warnings", str(warnings))] if warnings else lines


def _bytes(read: pl.DataFrame, name: str) -> str:
    """Return the last bytes that were read in words; an import has some owners' only."""
    was_read = read.get_column(name).null_count() < read.height
    return binary(last_bytes(read, name)) if was_read or not read.height else "(not read)"


OUTSIDE = ("size", "size_vram", "footprint", "rss", "swap_used", "available")
"""Gauges whose last figure the card of what was seen from outside shows, in this order."""


def _seen_from_outside(recording: Recording) -> list[tuple[str, str]]:
    """Return the lines of a recording in which no cache was looked into: the last figure of each gauge that was read."""
    manifest, requests = recording.manifest, recording.requests
    read = recording.observed.filter(pl.col("value").is_not_null()).unique("gauge", keep="last", maintain_order=True)
    last: dict[str, int] = dict(read.select("gauge", "value").iter_rows())
    seen = [f"{gauge} {binary(last[gauge])}" for gauge in OUTSIDE if gauge in last]
    return [
        *(("incomplete", words) for words in recording.warnings),
        ("model", str(manifest.model)),
        ("workload", f"{manifest.workload or 'none'}: {requests.height} request{'' if requests.height == 1 else 's'}, {_tokens(recording)}"),
        *([("last seen", ", ".join(seen))] if seen else []),
    ]


def verdict_words(findings: Findings | None) -> str:
    """Return the first finding as `question: verdict - summary`; "" when there is none."""
    if findings is None or not findings.findings:
        return ""
    first = findings.findings[0]
    return f"{first.question}: {first.verdict} - {first.summary}"


def card(recording: Recording, findings: Findings | None = None) -> str:
    """Return the summary of a recording as text, with the first finding's verdict when findings are given."""
    lines = [*summary(recording), *([("verdict", words)] if (words := verdict_words(findings)) else [])]
    return "\n".join(["Recording", *(f"  {name:<10}  {words}" for name, words in lines)])


def _tokens(recording: Recording) -> str:
    sums: dict[str, int] = {name: int(recording.requests.get_column(name).sum() or 0) for name in ("tokens", "matched", "cached", "generated")}
    return f"{sums['tokens']} prompt tokens (matched {sums['matched']}, cached {sums['cached']}), {sums['generated']} generated"


OWNERS = ("counted", "predicted_counted", "snapshots", "live", "unattributed", "pool", "active")
TITLES = {"predicted_counted": "predicted"}
"""How a column is called, where it is not by its own name."""


def bytes_text(recording: Recording, most: int = 20) -> str:
    """Return the bytes at each request's end as a table of text; at most `most` rows, the middle ones left out first.

    The process's footprint is a column where it was read.
    """
    table, read = recording.requests, readings(recording)
    unit = unit_for(max(largest(table, name) for name in OWNERS if name != "active"))
    names = (*OWNERS, *(("footprint",) if largest(table, "footprint") else ()))
    rows = [_row(row, names, unit) for row in table.iter_rows(named=True)]
    head = f"bytes at each request's end, in {unit.name}; weights {binary(last_bytes(read, 'weights'))}, budget {binary(last_bytes(read, 'budget'))}"
    return head + "\n" + text_table.columns(("request", "label", *(TITLES.get(name, name) for name in names)), text_table.shortened(rows, most), left=(1,))


def _row(row: dict[str, Any], names: tuple[str, ...], unit: Unit) -> list[object]:
    return [row["request"], row["label"], *(unit.shown(row[name]) for name in names)]
