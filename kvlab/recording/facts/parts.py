"""Parts: the bytes of what a model takes, at a recording's last reading: the cache's own owners, the server, the process, tools.

`heap` and `mapped` are a tool's categories, else heap = footprint - (active + pool), with what others had in use in the same process when the
weights were loaded, else footprint - listed size.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from kvlab.events import Loaded
from kvlab.recording.by_kind import EventTables
from kvlab.recording.facts.figures import DIFFERENCE, OF_SERVER
from kvlab.recording.readings import observed as readings

DIRTY = ("dirty", "region_dirty")
GRAPHICS = ("ioaccelerator", "iosurface", "owned unmapped (graphics)")
MAPPED = "mapped file"
HEAP = "malloc"

OTHER_CACHES = ("prompt_cache", "hot_cache", "store")
"""Gauges of caches that are not a trie's: a server's prompt cache in RAM, its cache of blocks in RAM, and what it keeps on disk."""

_NAMES = {"phys_footprint": "footprint", "size_vram": "size", "kv_cache": "live"}
_READ = (*OF_SERVER, "footprint", "phys_footprint", "rss", "mapped", "anonymous", "swapped", "container", "current", "hot_cache", "store", "gpu_used")
_BY_LABEL = ("weights", "kv_cache", "compute_buffer", "prompt_cache")
"""Gauges whose figures by label are parts of one whole; a figure without a label is the whole."""

_OWNERS = ("counted", "live", "snapshots", "active", "unattributed", "pool")


@dataclass(frozen=True, slots=True)
class Parts:
    """What was read.

    Attributes:
        bytes: Bytes by part: weights, live, counted, snapshots, pinned, unattributed, active, pool, size, footprint, gpu, heap, mapped, rss, and
            what other servers report under their gauge's name (`OTHER_CACHES`, compute_buffer, container, ...).
        derived: The parts that were not read but are a difference of others.
    """

    bytes: dict[str, int] = field(default_factory=dict[str, int])
    derived: tuple[str, ...] = ()

    def get(self, name: str) -> int | None:
        """Return a part's bytes; None when it was not read."""
        return self.bytes.get(name)

    @property
    def held(self) -> int | None:
        """What the model takes in all: as the server lists it, else the sum of its owners, else its process's footprint; None when nothing was read."""
        return self.get("size") or self.owned or self.get("footprint")

    @property
    def owned(self) -> int | None:
        """What the cache's own owners hold: the allocator's bytes and its pool, else their sum; None when neither was read."""
        if self.get("active") is not None:
            return (self.get("active") or 0) + (self.get("pool") or 0)
        names = ("weights", "live", "snapshots", "pool", "compute_buffer")
        return sum(self.bytes.get(name, 0) for name in names) if "weights" in self.bytes else None


def parts_of(events: EventTables, requests: pl.DataFrame, observed: pl.DataFrame, last: dict[str, int]) -> Parts:
    """Return the parts at the last reading; `last` are the last bytes of each gauge."""
    found = _owners(requests)
    for name in ("active", "pool"):
        if (count := _allocator(events, observed, name)) is not None:
            found[name] = count
    found |= {_NAMES.get(gauge, gauge): last[gauge] for gauge in _READ if gauge in last}
    found |= {_NAMES.get(gauge, gauge): count for gauge in _BY_LABEL if gauge in last and (count := _summed(observed, gauge))}
    for gauge in ("reported", "resident"):
        if gauge in last:
            found.setdefault("size", last[gauge])
    found |= _categories(observed)
    derived: list[str] = []
    if "heap" not in found and "footprint" in found:
        others = found["active"] + found.get("pool", 0) + _of_others(events) if "active" in found else found.get("size")
        # a footprint below the list is of processes that are not charged with the arrays: a GPU's bytes on Linux, or a server that lists a stale size
        if others is not None and found["footprint"] >= others:
            found["heap"] = found["footprint"] - others
            derived.append("heap")
    if "snapshots" in found and "counted" in found:
        found["pinned"] = found["snapshots"] - found["counted"]
        derived.append("pinned")
    return Parts(found, tuple(derived))


def _owners(requests: pl.DataFrame) -> dict[str, int]:
    """Return what the cache's own owners hold after the last request whose bytes were read."""
    rows = requests.filter(pl.col("counted").is_not_null() | pl.col("active").is_not_null())
    if not rows.height:
        return {}
    row = rows.row(-1, named=True)
    found = {name: int(row[name]) for name in _OWNERS if row[name] is not None}
    if row["retained"] is not None:
        found["weights"] = int(row["retained"] - row["live"] - row["snapshots"])
        if row["paged_out"] is not None:
            found["counted"] = int(row["paged_out"])
        found.setdefault("active", int(row["retained"]))
    return found


def _of_others(events: EventTables) -> int:
    """Return the bytes that others had in use of a run's own process (another model, a user's arrays), which `active` leaves out."""
    loaded = events.rows(Loaded, columns=("outside",)).get_column("outside").drop_nulls()
    return int(loaded[-1]) if len(loaded) else 0


def _allocator(events: EventTables, observed: pl.DataFrame, name: str) -> int | None:
    """Return the allocator's bytes: the last that a log's records or a table hold."""
    read = readings(events, (name,)).drop_nulls()
    if read.height:
        return int(read.item(-1, name)) or None
    rows = observed.filter(pl.col("gauge").is_in([name, f"mlx_{name}"]) & pl.col("value").is_not_null() & (pl.col("label") != DIFFERENCE))
    return int(rows.item(-1, "value")) if rows.height else None


def _summed(observed: pl.DataFrame, gauge: str) -> int:
    rows = observed.filter((pl.col("gauge") == gauge) & pl.col("value").is_not_null()).unique("label", keep="last", maintain_order=True)
    whole = rows.filter(pl.col("label") == "")
    return int((whole if whole.height else rows).get_column("value").sum())


def _categories(observed: pl.DataFrame) -> dict[str, int]:
    """Return the sums of a tool's last listing of regions: graphics, malloc and mapped files."""
    rows = observed.filter(pl.col("gauge").is_in([*DIRTY, "clean"]) & pl.col("value").is_not_null() & (pl.col("label") != "TOTAL"))
    last = rows.unique(["gauge", "label"], keep="last", maintain_order=True)
    found: dict[str, int] = {}
    for gauge, label, value in last.select("gauge", "label", "value").iter_rows():
        name = str(label).lower()
        part = "gpu" if name.startswith(GRAPHICS) else "heap" if name.startswith(HEAP) else ""
        part = part if gauge in DIRTY else "mapped" if name.startswith(MAPPED) else ""
        if part:
            found[part] = found.get(part, 0) + value
    return found
