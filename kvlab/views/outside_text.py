"""The text of what a probe saw: a row a request or a sample, the signs of life, the warnings. All bytes of a table are in the unit that its header names."""

from __future__ import annotations

from typing import Any

import polars as pl

from kvlab.events import Listed, Warned
from kvlab.probe import request_rows, sample_rows, sign_rows
from kvlab.recording import Recording
from kvlab.units import MIB, unit_for
from kvlab.views import text_table
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
