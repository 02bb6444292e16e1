"""A recording in the trace-event format, which chrome://tracing and Perfetto open, offline too.

Process 1 has the requests: a thread of requests, one of their phases, one of forwards, one of instants (splits, evictions). Process 2
has a thread a layer group: each snapshot is an asynchronous slice from its birth to its end. A counter stacks the bytes of each owner; what does
not add up with these (counted, budget, active) has a counter each.
A flow leads from the request that made a node to each later request that restored from it. A twin's times are those of kvlab's own code: the trace says so.

Invariants (a test checks them): times are microseconds, not negative; complete slices of one thread nest; every asynchronous slice
and every flow that begins also ends; no prompt and no answer is in it, only labels.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from kvlab.errors import require_path
from kvlab.events import ChunkRan, Evicted, NodeMerged, NodeSplit, PagedIn, TokenOut, Violation, Warned, WrongPositions
from kvlab.output_file import headed, replacing
from kvlab.recording import Recording
from kvlab.recording.caveats import TOKENS, notes
from kvlab.recording.readings import PREDICTED
from kvlab.views.spans_rows import group_labels

Row = dict[str, Any]

RUN, LAYERS = 1, 2
REQUESTS, PHASES, FORWARDS, INSTANTS = 1, 2, 3, 4
THREADS = {REQUESTS: "requests", PHASES: "phases", FORWARDS: "forwards", INSTANTS: "splits, merges, evictions"}
OWNERS = ("weights", "live", "snapshots", "transient", "unattributed", "pool")
OTHERS = ("counted", "budget", "active")
TWIN = "a twin: its times are those of kvlab's own code, no model's seconds"
TRACE = headed("a trace", lambda head: head.startswith(b'{"otherData":{"kvlab":'))
_ORDER = ("begin", "prefill", "attach", "decode", "close")


def chrome_trace(recording: Recording) -> dict[str, Any]:
    """Return the recording as the JSON object that the format calls for."""
    made = recording.manifest
    rows = [*_names(recording), *_requests(recording), *_forwards(recording), *_instants(recording), *_counters(recording), *_snapshots(recording)]
    rows += _flows(recording)
    rows.sort(key=lambda row: (row.get("ph") != "M", row.get("ts", 0), -row.get("dur", 0)))
    about = {"kvlab": made.kvlab, "model": made.model, "workload": made.workload, "source": made.source, "created": made.created}
    if not recording.has_seconds:
        about["times"] = TWIN
    about |= dict(notes(made))
    return {"otherData": about, "displayTimeUnit": "ms", "traceEvents": rows}


def write_chrome_trace(recording: Recording, path: str | Path, *, force: bool = False) -> Path:
    """Write the trace of a recording to `path` and return it, absolute.

    Raises:
        BadValue: a file is there that is no such trace, and it is not forced.
        UnreadableInput: the file cannot be written; then what is there is as it was.
    """
    out = require_path(path)
    with replacing(out, TRACE, force=force) as file:
        file.write(json.dumps(chrome_trace(recording), separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode("utf-8"))
    return out


def _us(seconds: float) -> int:
    return round(max(0.0, seconds) * 1e6)


def _names(recording: Recording) -> Iterator[Row]:
    note = "" if recording.has_seconds else f" ({TWIN})"
    for pid, name in ((RUN, f"{recording.manifest.model}: requests{note}"), (LAYERS, "snapshots by layer")):
        yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": name}}
    for tid, name in THREADS.items():
        yield {"ph": "M", "name": "thread_name", "pid": RUN, "tid": tid, "args": {"name": name}}
    labels = group_labels(recording.manifest.shape)
    for group, layer in recording.spans.select("group", "layer").drop_nulls().unique(maintain_order=True).iter_rows():
        yield {"ph": "M", "name": "thread_name", "pid": LAYERS, "tid": group + 1, "args": {"name": labels.get(group, f"group {group} ({layer})")}}


def _slice(tid: int, name: str, category: str, start: float, end: float, **args: Any) -> Row:
    return {"ph": "X", "name": name, "cat": category, "pid": RUN, "tid": tid, "ts": _us(start), "dur": _us(end) - _us(start), "args": args}


def _times(recording: Recording) -> dict[int, tuple[float, float]]:
    """Return when each request began and ended, in seconds."""
    times: dict[int, tuple[float, float]] = {}
    for event in recording.replay():
        if event.request > 0 and event.source != PREDICTED:
            start, end = times.get(event.request, (event.t, event.t))
            times[event.request] = min(start, event.t), max(end, event.t)
    return dict(sorted(times.items()))


def _requests(recording: Recording) -> Iterator[Row]:
    times = _times(recording)
    for row in recording.requests.iter_rows(named=True):
        start, end = times[row["request"]]
        known = {
            name: row[name]
            for name in ("tokens", "matched", "cached", "left", "evaluated", "generated", "reason", "limiting_layer", "stop")
            if row[name] is not None
        }
        yield _slice(REQUESTS, f"request {row['request']}{' ' + row['label'] if row['label'] else ''}", "request", start, end, **known)
    if recording.manifest.left_out:
        # without the readings of prefill its end is unknown, and a phase that follows would begin too early
        return
    read = recording.readings.filter((pl.col("request") > 0) & pl.col("phase").is_in(list(_ORDER)))
    ends = {(request, phase): t for request, phase, t in read.group_by("request", "phase").agg(pl.col("t").max()).iter_rows()}
    for request, (began, _) in times.items():
        start = began
        for phase in _ORDER:
            end = ends.get((request, phase))
            if end is not None and end >= start:
                yield _slice(PHASES, phase, "phase", start, end, request=request)
                start = end


def _forwards(recording: Recording) -> Iterator[Row]:
    # a token that represents a whole reply is no forward
    kinds = [ChunkRan] if TOKENS in recording.manifest.left_out else [ChunkRan, TokenOut]
    before = 0.0
    for event in recording.replay(*kinds):
        chunk = isinstance(event, ChunkRan)
        start = max(before, event.t - event.seconds) if chunk else before
        name = f"prefill [{event.start}, {event.end})" if chunk else f"decode {getattr(event, 'index', 0)}"
        # the first token's forward began when prefill ended; a token of another request must not begin before that request
        yield _slice(FORWARDS, name, "forward", min(start, event.t), event.t, request=event.request)
        before = event.t


def _instants(recording: Recording) -> Iterator[Row]:
    for event in recording.replay(NodeSplit, NodeMerged, Evicted, Warned, WrongPositions, Violation):
        node: int | None = getattr(event, "node", None)
        name = f"{event.kind}{'' if node is None else f' #{node}'}"
        yield {"ph": "i", "name": name, "cat": "cache", "pid": RUN, "tid": INSTANTS, "ts": _us(event.t), "s": "t", "args": {"request": event.request}}


def _counters(recording: Recording) -> Iterator[Row]:
    for row in recording.readings.select("t", *OWNERS, *OTHERS).iter_rows(named=True):
        yield _counter("bytes by owner", row["t"], {name: row[name] for name in OWNERS if row[name] is not None})
        yield from (_counter(f"{name} bytes", row["t"], {name: row[name]}) for name in OTHERS if row[name] is not None)


def _counter(name: str, t: float, values: Row) -> Row:
    return {"ph": "C", "name": name, "pid": RUN, "tid": 0, "ts": _us(t), "args": values}


def _snapshots(recording: Recording) -> Iterator[Row]:
    when = {event.seq: event.t for event in recording.replay()}
    last = max(when.values(), default=0.0)
    for row in recording.spans.drop_nulls("group").iter_rows(named=True):
        name = f"{row['state']} [{row['start']}, {row['end']})" + ("" if row["node"] is None else f" on #{row['node']}")
        # a version for each slice: a snapshot that becomes owned is another one to look at
        one = {"name": name, "cat": "snapshot", "pid": LAYERS, "tid": row["group"] + 1, "id": f"{row['snapshot']}.{row['born']}"}
        args = {"snapshot": row["snapshot"], "counted": row["counted"], "retained": row["retained"], "request": row["request"]}
        yield one | {"ph": "b", "ts": _us(when[row["born"]]), "args": args}
        yield one | {"ph": "e", "ts": _us(last if row["died"] is None else when[row["died"]])}


def _flows(recording: Recording) -> Iterable[Row]:
    times = _times(recording)
    rows: list[Row] = []
    made = {node: request for node, request in recording.nodes.select("node", "request").iter_rows() if request}
    for event in recording.replay(PagedIn):
        node: int = getattr(event, "node", -1)
        maker = made.get(node)
        if maker is None or maker == event.request or maker not in times:
            continue
        one = {"name": f"restore from #{node}", "cat": "restore", "id": event.seq, "pid": RUN, "tid": REQUESTS}
        rows += [one | {"ph": "s", "ts": _us(times[maker][1])}, one | {"ph": "f", "bp": "e", "ts": _us(event.t)}]
    return rows
