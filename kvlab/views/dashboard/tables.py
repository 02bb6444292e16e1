"""The tables of a dataset: their columns, and the words that are numbers in them."""

from __future__ import annotations

STATES = ("lazy", "owned", "view")
PHASES = ("", "load", "begin", "prefill", "attach", "decode", "close")

NODES = ("node", "parent", "start", "end", "user", "request", "born", "died")
SPANS = ("snapshot", "node", "group", "start", "end", "state", "counted", "retained", "request", "born", "died")
FIGURES = ("weights", "live_logical", "live", "counted", "snapshots", "transient", "pool", "active", "unattributed", "peak", "budget", "nodes", "footprint")
"""The figures of a reading; -1 for one that was not read."""

TABLES: dict[str, tuple[str, ...]] = {
    "events": ("seq", "kind", "request", "node", "t", "offset", "sentence"),
    "nodes": NODES,
    "spans": SPANS,
    "readings": ("seq", "request", "phase", *FIGURES),
    "predicted": ("seq", "request", "counted", "live"),
    "marks": ("seq", "request", "what", "start", "end", "node"),
    "ranks": ("seq", "node", "protection", "used_at", "first", "second", "third"),
    "wrong": ("seq", "request", "group", "start", "end", "belongs_to"),
    "buffers": ("seq", "group", "offset", "start", "capacity"),
    "moves": ("seq", "owner"),
    "sites": ("seq", "site"),
    "texts": ("seq", "request", "text"),
    "tokens": ("seq", "request", "start", "texts"),
}
"""The tables and their columns. `events.offset`: the tokens that live buffers held then, those of draft layers excepted; `ranks`: why eviction does not
take a node (the number of `protections`), the event of its last use (null: never used), and what the order of the others goes by, as in
`kvlab.events.NodeRanked`; `buffers`: as in `kvlab.events.BufferChanged`; `moves`: events that gave bytes to an owner other than snapshots or took them back;
`sites`: the Python code that allocated an event's bytes; `tokens`: the texts of a request's tokens from `start` on."""

QUIET = frozenset({"node_ranked", "buffer_changed"})
"""The kinds of events that change what is shown and are no stop of their own: they show at the stop before them."""

OWNERS = ("live", "transient", "pool", "weights")
"""Who holds bytes other than snapshots, by their number in `moves.owner`."""

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
