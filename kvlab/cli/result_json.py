"""The JSON of `run`, `twin` and `check`: keys here are stable; add, do not rename. Bytes are whole bytes, `_s` are seconds.

`reported_bytes` = weights + live + paged out + pool, where what live and paged out share counts once (kvlab/recording/reported.py).
`paged_out_bytes` is the sum over the trie's snapshots, `counted_bytes` what the budget sees; they differ only when the budget counts
resident bytes.
"""

from __future__ import annotations

from typing import Any

import polars as pl

from kvlab.events import Violation, WrongPositions
from kvlab.findings import Findings
from kvlab.recording import Recording
from kvlab.recording.reported import reported_bytes


def result(recording: Recording, findings: Findings) -> dict[str, Any]:
    """Return what a run did, as JSON holds it."""
    manifest = recording.manifest
    wrong, sizes = _wrong_positions(recording), reported_bytes(recording)
    return {
        "workload": manifest.workload,
        "model": manifest.model,
        "policy": manifest.policy,
        "left_out": list(manifest.left_out),
        "requests": [_request(row, wrong.get(row["request"], []), sizes.get(row["request"])) for row in recording.requests.iter_rows(named=True)],
        "violations": violations(recording),
        **findings.to_dict(),
    }


def violations(recording: Recording) -> list[dict[str, Any]]:
    """Return the invariants that did not hold, in order. Restored positions that are wrong are among them."""
    rows = recording.rows(Violation).select("request", "rule", pl.col("message").alias("detail"))
    broken: list[dict[str, Any]] = rows.to_dicts()
    named = {row["request"] for row in broken if row["rule"] == "restored_right"}
    for request, found in _wrong_positions(recording).items():
        if request not in named:
            broken += [{"request": request, "rule": "restored_right", "detail": _words(positions)} for positions in found]
    return sorted(broken, key=lambda row: row["request"])


def _words(positions: dict[str, Any]) -> str:
    start, end = positions["positions"]
    return f"{positions['kind']} positions [{start}, {end}) belong to request {positions['belongs_to_request']}"


def _wrong_positions(recording: Recording) -> dict[int, list[dict[str, Any]]]:
    """Return, by request, the restored positions that hold what another request wrote; `layer` is the first of its group."""
    groups = recording.manifest.shape.get("groups", [])
    found: dict[int, list[dict[str, Any]]] = {}
    rows = recording.rows(WrongPositions)
    for row in rows.select("request", "group", "layer", "start", "end", "belongs_to").iter_rows(named=True):
        group = row["group"]
        found.setdefault(row["request"], []).append(
            {
                "layer": groups[group]["layers"][0] if group < len(groups) else group,
                "kind": row["layer"],
                "positions": [row["start"], row["end"]],
                "belongs_to_request": row["belongs_to"],
            }
        )
    return found


_COPIED = ("request", "label", "tokens", "matched", "cached", "left", "nodes")
_BYTES = ("paged_out", "counted", "live", "retained", "active", "unattributed", "peak", "pool")
_OF_THE_REPLY = ("generated", "stop", "ttft_s", "prefill_s", "decode_s", "reason", "limiting_layer", "warnings")
"""Columns of `Recording.requests`: as they are, those of bytes with `_bytes` added, and those of the reply."""


def _request(row: dict[str, Any], wrong: list[dict[str, Any]], size: int | None) -> dict[str, Any]:
    text = {"text": row["text"]} if row["text"] is not None else {}
    sizes = {f"{name}_bytes": row[name] for name in _BYTES} | {"reported_bytes": size}
    return {name: row[name] for name in _COPIED} | sizes | {name: row[name] for name in _OF_THE_REPLY} | {"wrong_positions": wrong} | text
