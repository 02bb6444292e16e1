"""The tables of a dataset: their columns, and the words that stand in them as numbers."""

from __future__ import annotations

STATES = ("lazy", "owned", "view")
PHASES = ("", "load", "begin", "prefill", "attach", "decode", "close")

NODES = ("node", "parent", "start", "end", "user", "request", "born", "died")
SPANS = ("snapshot", "node", "group", "start", "end", "state", "counted", "retained", "request", "born", "died")
FIGURES = ("weights", "live_logical", "live", "counted", "snapshots", "transient", "pool", "active", "unattributed", "peak", "budget", "nodes", "footprint")
"""The figures of a reading; -1 for one that was not read."""

TABLES: dict[str, tuple[str, ...]] = {
    "events": ("seq", "kind", "request", "node", "t", "told"),
    "nodes": NODES,
    "spans": SPANS,
    "readings": ("seq", "request", "phase", *FIGURES),
    "predicted": ("seq", "request", "counted", "live"),
    "marks": ("seq", "request", "what", "start", "end", "node"),
    "uses": ("seq", "node", "clock", "times"),
    "wrong": ("seq", "request", "group", "start", "end", "belongs_to"),
    "buffers": ("seq", "group", "offset", "room"),
    "moves": ("seq", "owner"),
    "sites": ("seq", "site"),
    "texts": ("seq", "request", "text"),
    "tokens": ("seq", "request", "start", "texts"),
}
"""The tables and their columns. `buffers`: how far a layer group's live buffer is filled and how many tokens it has room for (-1: not known);
`moves`: events that gave bytes to an owner other than snapshots or took them back; `sites`: the Python code that asked for an event's bytes;
`tokens`: the texts of a request's tokens from `start` on."""

OWNERS = ("live", "transient", "pool", "weights")
"""Who holds bytes beside snapshots, by their number in `moves.owner`."""

STOPS = frozenset(
    {
        "bytes_read",
        "request_began",
        "matched",
        "node_split",
        "node_merged",
        "evicted",
        "snapshot_owned",
        "request_closed",
        "wrong_positions",
        "violation",
        "warned",
    }
)
"""The kinds of events that a thinned dataset can stop at."""

MARKS = ("scheduled", "captured", "chunk_ran", "token_out", "paged_in", "paged_out", "frontier_moved", "evicted")
"""Events whose offsets a page draws, by their number in `marks.what`."""
