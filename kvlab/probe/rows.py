"""Rows of a probe's recording: a row a request, a row a sample, and the signs of life. Bytes are whole bytes, `_s` seconds; what was not read is null.

They are folds of the events, like all tables.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import polars as pl

from kvlab.events import LifeSign, Listed, Observed
from kvlab.probe.sample import END_OF_SAMPLE, RUNNER, SERVER
from kvlab.recording import Recording

_SAMPLE: dict[str, pl.DataType] = {
    "listed": pl.Int64(),
    "size": pl.Int64(),
    "runner_pid": pl.Int64(),
    "footprint": pl.Int64(),
    "rss": pl.Int64(),
    "mapped": pl.Int64(),
    "swap_used": pl.Int64(),
    "swapped_in": pl.Int64(),
    "swapped_out": pl.Int64(),
    "available": pl.Int64(),
}

REQUEST_ROWS: dict[str, pl.DataType] = {
    "request": pl.Int64(),
    "label": pl.String(),
    "context": pl.Int64(),
    "concurrency": pl.Int64(),
    "tokens": pl.Int64(),
    "matched": pl.Int64(),
    "cached": pl.Int64(),
    "generated": pl.Int64(),
    "stop": pl.String(),
    "ttft_s": pl.Float64(),
    "prefill_s": pl.Float64(),
    "decode_s": pl.Float64(),
    "load_s": pl.Float64(),
    **_SAMPLE,
    "signs": pl.List(pl.String()),
}
"""The columns of `request_rows`.

`context` is what was requested, else what the list reports. The rest is of the sample after the request: `listed` models and the sum of their `size`;
`runner_pid`, the youngest process that holds models (the server's where no runner was ever seen; none where the runners are gone);
`footprint`, `rss` and `mapped` of all that do; `swapped_in` and `swapped_out` of the machine since the sample before;
of requests that ran at once the last one has these two, and all have the sample that followed.
"""

SAMPLE_ROWS: dict[str, pl.DataType] = {"t": pl.Float64(), "request": pl.Int64(), "context": pl.Int64(), **_SAMPLE}
"""The columns of `sample_rows`; `t` is seconds since the recording began."""

_OF_THE_TABLE = ("request", "label", "tokens", "matched", "cached", "generated", "stop", "ttft_s", "prefill_s", "decode_s")
_OF_A_REQUEST = {"asked_context": "context", "concurrency": "concurrency", "load_s": "load_s"}
_SINCE = {"swapped_in_since": "swapped_in", "swapped_out_since": "swapped_out"}


def request_rows(recording: Recording) -> pl.DataFrame:
    """Return a row a request, with `REQUEST_ROWS`. An action of a workload has a row without a label."""
    rows: dict[int, dict[str, Any]] = {row["request"]: row | {"signs": []} for row in recording.requests.select(_OF_THE_TABLE).iter_rows(named=True)}
    for sample in _samples(recording):
        if sample["request"] in rows:
            rows[sample["request"]] |= {name: sample[name] for name in (*_SAMPLE, "context")} | {"processes_seen": True}
    for row in recording.rows(Observed).iter_rows(named=True):
        if row["request"] in rows and row["gauge"] in _OF_A_REQUEST:
            rows[row["request"]][_OF_A_REQUEST[row["gauge"]]] = row["number"]
    for row in sign_rows(recording).iter_rows(named=True):
        if row["request"] in rows:
            rows[row["request"]]["signs"].append(row["state"])
    _share_samples(rows)
    return _table(rows.values(), REQUEST_ROWS)


def _share_samples(rows: dict[int, dict[str, Any]]) -> None:
    """Give requests that ran at once the sample that followed the last of them."""
    sample: dict[str, Any] = {}
    for number in sorted(rows, reverse=True):
        row = rows[number]
        if row.get("processes_seen"):
            sample = {name: row.get(name) for name in (*_SAMPLE, "context") if name not in _SINCE.values()}
        elif (row.get("concurrency") or 1) > 1:
            row |= sample


def sample_rows(recording: Recording) -> pl.DataFrame:
    """Return a row a sample, with `SAMPLE_ROWS`."""
    return _table(_samples(recording), SAMPLE_ROWS)


def sign_rows(recording: Recording) -> pl.DataFrame:
    """Return the signs of life in order, with the seconds that were waited and words."""
    signs = recording.rows(LifeSign)
    return signs.select("seq", "t", "request", "state", "model", "pid", "seconds", "message")


def never_answered(recording: Recording) -> bool:
    """Return whether the server answered nothing at all."""
    answered = recording.tables.has(Listed) or recording.rows(LifeSign, columns=("state",)).filter(pl.col("state") == "answering").height > 0
    return not answered and not recording.requests.filter(~pl.col("stop").is_in(["failed", "cancelled"])).height


def nothing_to_show(recording: Recording) -> bool:
    """Return whether the server answered nothing, and no sample of a server that took the connection read a process either."""
    if not never_answered(recording):
        return False
    refused = sign_rows(recording).get_column("state").is_in(["refused"]).all()
    if refused or recording.manifest.workload != "watch":
        return True
    return not any(sample["footprint"] is not None or sample["rss"] is not None for sample in _samples(recording))


def why_unanswered(recording: Recording) -> str:
    """Return why a server that never answered did not: what became of the first call."""
    first = sign_rows(recording).row(0, named=True)
    waited = f" within {first['seconds']:g} s" if first["seconds"] else ""
    words = first["message"].partition(": ")[2] or first["message"]
    return f"{words}{waited}; neither its version nor its list of models came"


def _samples(recording: Recording) -> list[dict[str, Any]]:
    """Return every sample as a row."""
    samples: list[dict[str, Any]] = []
    # a server that was once seen with a runner holds no model itself, also when its runner is gone
    holder = RUNNER if (recording.rows(Observed).filter(pl.col("pid").is_not_null()).get_column("label") == RUNNER).any() else SERVER
    sample = _SampleRow(holder)
    parts = recording.rows(Listed, Observed, columns=("t", "request", "kind", "count", "context", "gauge", "label", "observed", "pid"))
    for row in parts.iter_rows(named=True):
        if row["kind"] == Listed.kind:
            sample.listed(row["count"], row["context"])
        elif row["gauge"] == END_OF_SAMPLE:
            samples.append({"t": row["t"], "request": row["request"], **sample.row()})
            sample = _SampleRow(holder)
        else:
            sample.observed(row["gauge"], row["label"], row["observed"], row["pid"])
    return samples


class _SampleRow:
    """The figures of one sample as they come."""

    def __init__(self, holder: str) -> None:
        self._holder = holder
        self._figures: dict[str, Any] = {}
        self._held: dict[str, dict[str, int]] = {RUNNER: {}, SERVER: {}}
        self._pids: dict[str, int] = {}

    def listed(self, count: int, context: int | None) -> None:
        self._figures |= {"listed": count, "context": context}

    def observed(self, gauge: str, label: str, count: int | None, pid: int | None) -> None:
        if count is None:
            return
        if label in self._held and pid is not None:
            self._pids[label] = pid
            self._held[label][gauge] = self._held[label].get(gauge, 0) + count
        elif gauge == "size":
            self._figures["size"] = self._figures.get("size", 0) + count
        elif gauge in _SINCE:
            self._figures[_SINCE[gauge]] = count
        elif gauge in ("available", "swap_used"):
            self._figures[gauge] = count

    def row(self) -> dict[str, Any]:
        held = {name: self._held[self._holder].get(name) for name in ("footprint", "rss", "mapped")}
        return {name: None for name in SAMPLE_ROWS if name not in ("t", "request")} | self._figures | held | {"runner_pid": self._pids.get(self._holder)}


def _table(rows: Collection[dict[str, Any]], schema: dict[str, pl.DataType]) -> pl.DataFrame:
    return pl.DataFrame({name: [row.get(name) for row in rows] for name in schema}, schema=schema, strict=False)
