"""The items of the checklist, as data: what has to be known before a server is said to release, or not to release, what it took.

Source: the acceptance checklist of public guides to servers that keep bytes after a job (data/SOURCES.md). An item that nothing can read
(`by_hand`) is filled by a note.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Item:
    """One item.

    Attributes:
        name: How notes and programs call it.
        asks: What has to be known.
        fill: The command that fills it; for one that is filled by hand, what to write down.
        by_hand: No recording can tell it.
    """

    name: str
    asks: str
    fill: str
    by_hand: bool = False


ITEMS: tuple[Item, ...] = (
    Item("keep_alive", "keep-alive: is the model still listed, and until when", "kvlab probe --watch 60"),
    Item("read_together", "list, process number, footprint and swap, read together", "kvlab probe --watch 60"),
    Item(
        "parts_separated",
        "weights, KV, mapped files and heap, told apart",
        "footprint PID > parts.txt; kvlab diagnose parts.txt (Linux: kvlab probe)",
    ),
    Item("by_requests", "growth by the number of requests, all else the same", "kvlab probe --workload E1:requests --out requests.kvrec"),
    Item("by_context", "growth by context length, all else the same", "kvlab probe --workload E1:context --out context.kvrec"),
    Item("by_concurrency", "growth by concurrency, all else the same", "kvlab probe --workload E1:concurrency --out concurrency.kvrec"),
    Item("unload_answered", "the server's answer to an unload", "kvlab probe --workload E2 --out unload.kvrec"),
    Item("old_process_gone", "the old runner's process, gone after the unload", "kvlab probe --workload E2 --out unload.kvrec"),
    Item("loaded_again", "one cold load after it, with its seconds, and what was interrupted", "kvlab probe --workload E2 --out unload.kvrec"),
    Item("drain_and_lock", "queue drained and locked before an unload", 'kvlab report R --note drain_and_lock="who holds the lock, what waits"', by_hand=True),
    Item("logs_kept", "the server's log, kept beside the figures", "kvlab probe --log server.log, or kvlab diagnose server.log"),
    Item(
        "thresholds",
        "thresholds: failure rate, seconds of a cold load, how often to recycle",
        'kvlab report R --note thresholds="1 %, 30 s, daily"',
        by_hand=True,
    ),
)
"""All items in order."""

NAMES = tuple(item.name for item in ITEMS)
