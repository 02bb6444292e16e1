"""Machine: what is known of the bytes of the computer that the model ran on."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from kvlab.recording.manifest import Manifest
from kvlab.units import binary

AVAILABLE = ("available", "system_free", "ram_available")
"""Gauges of what can be had without swapping. The free pages of vm_stat alone are none: they leave out what the system would give back."""

TOTALS = ("system_total", "physical", "ram_total")
PAGES = ("free", "active_pages", "inactive", "speculative", "wired", "compressor")
GIVEN_BACK = ("purgeable", "file_backed", "speculative")
"""Pages that the system gives back without swapping; the speculative ones are among the file-backed ones."""


@dataclass(frozen=True, slots=True)
class Machine:
    """The system's figures; None for what was not recorded.

    Attributes:
        total: All bytes of the machine: given by a user, recorded, or found when kvlab itself ran or probed there.
        available: Bytes that can be had without swapping: read, or the free share of all, or all less those in use.
        available_by: How `available` is known: the gauge, `free_share`, `memory_used` or `pages`; "" when it is not.
        wired: Bytes that may not be paged out.
        wired_share: Their share of all pages that were counted, 0 to 1.
        free_share: The share that is free, 0 to 1, as last read.
        free_share_first: As first read.
        swap_used: Bytes of swap in use, as last read.
        swap_grew: Bytes by which they grew; 0 when they did not, or were read once.
        swapped_out: Bytes that were swapped out meanwhile.
    """

    total: int | None = None
    available: int | None = None
    available_by: str = ""
    wired: int | None = None
    wired_share: float | None = None
    free_share: float | None = None
    free_share_first: float | None = None
    swap_used: int | None = None
    swap_grew: int = 0
    swapped_out: int = 0

    def words(self) -> str:
        """Return a sentence of the system's figures; "" when none was read."""
        read: list[str] = []
        if self.free_share is not None:
            before = f" ({_percent(self.free_share_first)} at first)" if self.free_share_first is not None and self.free_share_first != self.free_share else ""
            read.append(f"{_percent(self.free_share)} of the machine are free{before}")
        if self.swap_used is not None:
            grew = f", {binary(self.swap_grew)} more than at first" if self.swap_grew else ""
            read.append(f"{binary(self.swap_used)} of swap are in use{grew}")
        return f"The system reports: {'; '.join(read)}." if read else ""


def machine_of(observed: pl.DataFrame, manifest: Manifest, given: int | None = None) -> Machine:
    """Return the machine of a recording; `given` is the total that a user names, which counts before what was found."""
    total = given if given is not None else _last(observed, TOTALS) or _found(manifest)
    shares: list[float] = observed.filter(pl.col("gauge") == "free_share").get_column("number").drop_nulls().to_list()
    used: list[int] = observed.filter(pl.col("gauge") == "swap_used").get_column("value").drop_nulls().to_list()
    since = observed.filter(pl.col("gauge") == "swapped_out_since").unique("seq").get_column("value").drop_nulls()
    out = observed.filter(pl.col("gauge") == "swapped_out").get_column("value").drop_nulls()
    pages = {gauge: count for gauge in (*PAGES, *GIVEN_BACK) if (count := _last(observed, (gauge,))) is not None}
    available, by = _available(observed, total, shares[-1] if shares else None, pages)
    every = sum(pages.get(gauge, 0) for gauge in PAGES)
    return Machine(
        total=total,
        available=available,
        available_by=by,
        wired=pages.get("wired"),
        wired_share=pages["wired"] / every if "wired" in pages and "free" in pages and every else None,
        free_share=shares[-1] if shares else None,
        free_share_first=shares[0] if shares else None,
        swap_used=used[-1] if used else None,
        swap_grew=max(0, used[-1] - used[0]) if used else 0,
        swapped_out=int(since.sum()) if len(since) else int(out[-1] - out[0]) if len(out) > 1 else 0,
    )


def _available(observed: pl.DataFrame, total: int | None, share: float | None, pages: dict[str, int]) -> tuple[int | None, str]:
    for gauge in AVAILABLE:
        read = _last(observed, (gauge,))
        if read is not None:
            return read, gauge
    if total is not None and share is not None:
        return round(total * share), "free_share"
    used = _last(observed, ("memory_used",))
    if total is not None and used is not None:
        return total - used, "memory_used"
    if "free" in pages and any(gauge in pages for gauge in GIVEN_BACK):
        return pages["free"] + pages.get("purgeable", 0) + (pages.get("file_backed") or pages.get("speculative", 0)), "pages"
    return None, ""


def _found(manifest: Manifest) -> int | None:
    here = manifest.source == "lab" or (manifest.source == "probe" and manifest.origin.get("server") == "this machine")
    ram = manifest.machine.get("ram_bytes")
    return int(ram) if here and isinstance(ram, int) and ram > 0 else None


def _last(observed: pl.DataFrame, gauges: tuple[str, ...]) -> int | None:
    rows = observed.filter(pl.col("gauge").is_in(gauges) & pl.col("value").is_not_null())
    return int(rows.item(-1, "value")) if rows.height else None


def _percent(share: float) -> str:
    return f"{share:.0%}".replace("%", " %")
