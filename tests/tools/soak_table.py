"""What the public study of the upstream runner says must show, version by version, on each layer set. Written from it, not from the code.

A version stands for the releases up to the next one: 0.30.8 for those to 0.32.0, 0.32.1 for those to 0.32.6, 0.32.7 for those to 0.32.15.
"""

from __future__ import annotations

from dataclasses import dataclass

VERSIONS = ("0.30.7", "0.30.8", "0.32.1", "0.32.7", "0.33.0", "main")
SETS = ("kv", "kv+rotating", "kv+recurrent", "hybrid+draft")
WHOLE = ("kv+rotating", "kv+recurrent", "hybrid+draft")
RECURRENT = ("kv+recurrent", "hybrid+draft")
DRAFT = ("hybrid+draft",)


@dataclass(frozen=True, slots=True)
class Row:
    """One entry: the versions that show it, the layer sets it can show on, the versions that lack what it happens to, and why."""

    id: str
    versions: tuple[str, ...]
    on: tuple[str, ...]
    reason: str
    lacking: tuple[str, ...] = ()
    design: bool = False

    def word(self, version: str, layer_set: str) -> str:
        if layer_set not in self.on or version in self.lacking:
            return "not applicable"
        if self.design:
            return "by design"
        return "must" if version in self.versions else "never"


UP_TO_HEAD = VERSIONS[:5]

TABLE = (
    Row("F-01", ("0.30.8",), RECURRENT, "v0.30.8 to v0.32.0; the conv part of recurrent states"),
    Row("F-03", VERSIONS, SETS, "all versions, not fixed as such: the budget compares paged-out bytes only", design=True),
    Row("F-05", VERSIONS, SETS, "not accepted upstream as a defect: every unrelated prompt leaves its branch", design=True),
    Row("F-06", UP_TO_HEAD, WHOLE, "v0.18.4 until the active path may be evicted; pure KV shows no growth"),
    Row("F-07", UP_TO_HEAD, SETS, "v0.18.3 until scopes; KV merges"),
    Row("F-09", ("0.30.8", "0.32.1", "0.32.7"), WHOLE, "lazy snapshots are from v0.30.8; the warning is F-16's and needs a state that cannot go back"),
    Row("F-10", VERSIONS, SETS, "all versions: only freeing drops a buffer", design=True),
    Row(
        "F-12",
        ("0.30.8", "0.32.1", "0.32.7", "0.33.0"),
        ("kv", "kv+rotating"),
        "wrong spans since captures across the forward (v0.30.8); never with recurrent layers",
    ),
    Row("F-13", ("0.33.0",), WHOLE, "came with page-out at close; the layers missed are whole states"),
    Row("F-14", ("0.30.8", "0.32.1"), SETS, "v0.30.8 to v0.32.6; KV, hybrids too"),
    Row("F-15", ("0.30.8", "0.32.1", "0.32.7"), SETS, "v0.30.8 to v0.32.15"),
    Row("F-16", ("0.30.8", "0.32.1", "0.32.7"), SETS, "v0.30.8 to v0.32.15; before, snapshots began at their node's start"),
    Row("F-17", ("0.30.7", "0.30.8", "0.32.1", "0.32.7"), SETS, "v0.18.3 to v0.32.15"),
    Row("F-18", ("0.30.8", "0.32.1", "0.32.7"), SETS, "v0.30.8 to v0.32.15"),
    Row("F-19", (), SETS, "what discarding on cancel prevented: in no release here"),
    Row("F-20", ("0.30.8", "0.32.1", "0.32.7"), DRAFT, "v0.30.11 to v0.32.15; before, no draft layers in the cache", ("0.30.7",)),
    Row("F-21", ("0.30.8",), DRAFT, "v0.30.11 to v0.32.0; before, no draft layers in the cache", ("0.30.7",)),
    Row("F-22", ("0.32.7", "0.33.0"), SETS, "v0.32.7 until items are whole; before, no media", ("0.30.7", "0.30.8", "0.32.1")),
)

PLANTED: dict[str, tuple[dict[str, object], str]] = {
    "F-01": ({"capture_as": "view"}, "kv+recurrent"),
    "F-06": ({"protect": "active_path"}, "kv+recurrent"),
    "F-07": ({"lifetimes": "sweep"}, "kv"),
    "F-09": ({"growth": "in_place"}, "kv+recurrent"),
    "F-12": ({"mid_edge": "drop"}, "kv"),
    "F-13": ({"page_out_layers": "all_or_none"}, "kv+recurrent"),
    "F-14": ({"copy_before_overwrite": "first_append"}, "kv"),
    "F-15": ({"attach": "replace"}, "kv+recurrent"),
    "F-16": ({"growth": "in_place"}, "kv"),
    "F-17": ({"page_out": "at_switch"}, "kv"),
    "F-18": ({"on_cancel": "discard"}, "kv"),
    "F-20": ({"settle_draft": False}, "hybrid+draft"),
    "F-21": ({"draft_keys": "single"}, "hybrid+draft"),
    "F-22": ({"media": "anywhere"}, "kv"),
}
"""By id: the single choice that makes it on top of upstream main, and a layer set to see it on."""

CURED: dict[str, dict[str, object]] = {"F-03": {"budget_counts": "resident"}, "F-05": {"on_miss": "prune"}, "F-10": {"live_buffer": "shrink"}}
"""By id of what every version does by design: the choice that does otherwise."""
