"""The tables of a dataset: their columns, the words that are numbers in them, and what does not change while events come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvlab.lab.source import Source
from kvlab.views.spans_rows import group_labels

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


@dataclass(frozen=True, slots=True)
class About:
    """What does not change while events come.

    Attributes:
        title: What is shown.
        policy: The choices of the cache; {} when they are not known.
        groups: A row a layer group: label, kind, layers, bytes_per_token, state_bytes, window, growth_step.
        shape: What the model keeps, as `Shape.to_dict`; {} when it is not known.
        source: lab, twin, or an importer.
        left_out: What was not recorded, as in `Manifest.left_out`.
    """

    title: str
    policy: Mapping[str, Any]
    groups: tuple[Mapping[str, Any], ...]
    shape: Mapping[str, Any]
    source: str = ""
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, title: str, policy: Mapping[str, Any], shape: Mapping[str, Any], source: str = "", left_out: tuple[str, ...] = ()) -> About:
        """Return it for a shape as `Shape.to_dict` gives it ({} when it is not known)."""
        labels = group_labels(dict(shape))
        groups: list[Mapping[str, Any]] = list(shape.get("groups", []))
        kept = ("kind", "bytes_per_token", "state_bytes", "window", "growth_step")
        rows = tuple({"label": labels[at], "layers": len(group["layers"])} | {name: group.get(name, 0) for name in kept} for at, group in enumerate(groups))
        return cls(title, policy, rows, shape, source, left_out)


def about_source(source: Source) -> About:
    """Return what is known of a Lab or a Twin from its name, its policy and its shape."""
    return About.of(source.name, source.policy.to_dict(), source.shape.to_dict(), source.source)
