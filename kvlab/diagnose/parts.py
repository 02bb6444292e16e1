"""The parts of what a model takes, at a recording's last reading, from whatever was read: the cache's own owners, the server, the process, tools.

Each is in bytes; what was not read is missing. `heap` and `mapped` are a tool's categories, else heap = footprint - (active + pool), with what
others had in use in the same process when the weights were loaded, else footprint - listed size.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from kvlab.diagnose.outside.series_seen import DIFFERENCE, TOLD_BY_SERVER, figures_of
from kvlab.events import Loaded
from kvlab.recording import Recording
from kvlab.recording.readings import observed

DIRTY = "dirty"
GRAPHICS = ("ioaccelerator", "iosurface", "owned unmapped (graphics)")
MAPPED = "mapped file"
HEAP = "malloc"


@dataclass(frozen=True, slots=True)
class Parts:
    """What was read.

    Attributes:
        bytes: Bytes by part: weights, live, counted, snapshots, pinned, unattributed, active, pool, size, footprint, gpu, heap, mapped, rss.
        derived: The parts that were not read but are a difference of others.
    """

    bytes: dict[str, int] = field(default_factory=dict[str, int])
    derived: tuple[str, ...] = ()

    def get(self, name: str) -> int | None:
        """Return a part's bytes; None when it was not read."""
        return self.bytes.get(name)


def parts(recording: Recording) -> Parts:
    """Return the parts at the last reading."""
    found = _owners(recording) | {name: value for name in ("active", "pool") if (value := _allocator(recording, name)) is not None}
    for gauge in (*TOLD_BY_SERVER, "footprint", "phys_footprint", "rss", "mapped", "anonymous"):
        rows = figures_of(recording, gauge)
        if rows.height:
            found["footprint" if gauge == "phys_footprint" else "size" if gauge == "size_vram" else gauge] = int(rows.item(-1, "value"))
    for gauge in ("reported", "resident"):
        rows = figures_of(recording, gauge)
        if rows.height:
            found.setdefault("size", int(rows.item(-1, "value")))
    found |= _categories(recording)
    derived: list[str] = []
    if "heap" not in found and "footprint" in found:
        beside = found["active"] + found.get("pool", 0) + _of_others(recording) if "active" in found else found.get("size")
        # a footprint below the list is of processes that are not charged with the arrays: a GPU's bytes on Linux, or a server that lists a stale size
        if beside is not None and found["footprint"] >= beside:
            found["heap"] = found["footprint"] - beside
            derived.append("heap")
    if "snapshots" in found and "counted" in found:
        found["pinned"] = found["snapshots"] - found["counted"]
        derived.append("pinned")
    return Parts(found, tuple(derived))


def _owners(recording: Recording) -> dict[str, int]:
    """Return what the cache's own owners hold after the last request whose bytes were read."""
    rows = recording.requests.filter(pl.col("counted").is_not_null() | pl.col("active").is_not_null())
    if not rows.height:
        return {}
    row = rows.row(-1, named=True)
    found = {name: int(row[name]) for name in ("counted", "live", "snapshots", "active", "unattributed", "pool") if row[name] is not None}
    if row["retained"] is not None:
        found["weights"] = int(row["retained"] - row["live"] - row["snapshots"])
        if row["paged_out"] is not None:
            found["counted"] = int(row["paged_out"])
        if "active" not in found:
            found["active"] = int(row["retained"])
    return found


def _of_others(recording: Recording) -> int:
    """Return the bytes that others had in use of a run's own process (another model, a user's arrays), which `active` leaves out."""
    loaded = recording.events.filter(pl.col("kind") == Loaded.kind).get_column("outside").drop_nulls()
    return int(loaded[-1]) if len(loaded) else 0


def _allocator(recording: Recording, name: str) -> int | None:
    """Return the allocator's bytes: the last that a log's records or a table tell."""
    read = observed(recording.events).filter(pl.col(name).is_not_null())
    if read.height:
        return int(read.item(-1, name)) or None
    rows = recording.observed.filter(pl.col("gauge").is_in([name, f"mlx_{name}"]) & pl.col("value").is_not_null() & (pl.col("label") != DIFFERENCE))
    return int(rows.item(-1, "value")) if rows.height else None


def _categories(recording: Recording) -> dict[str, int]:
    """Return the sums of a tool's last listing of regions: graphics, malloc and mapped files."""
    rows = recording.observed.filter(pl.col("gauge").is_in([DIRTY, "clean", "resident_pages"]) & pl.col("value").is_not_null() & (pl.col("label") != "TOTAL"))
    last = rows.unique(["gauge", "label"], keep="last", maintain_order=True)
    found: dict[str, int] = {}
    for gauge, label, value in last.select("gauge", "label", "value").iter_rows():
        name = str(label).lower()
        if gauge == DIRTY and name.startswith(GRAPHICS):
            found["gpu"] = found.get("gpu", 0) + value
        elif gauge == DIRTY and name.startswith(HEAP):
            found["heap"] = found.get("heap", 0) + value
        elif gauge == "clean" and name.startswith(MAPPED):
            found["mapped"] = found.get("mapped", 0) + value
    return found
