"""The table of requests that `kvlab export --as csv` writes, read back: its headings are ours, and its bytes are whole numbers without a unit."""

from __future__ import annotations

from collections.abc import Sequence

from kvlab.importers.rows import READING, Rows
from kvlab.recording.readings import PREDICTED
from kvlab.units import LARGEST

_SIGNS = frozenset({"request", "tokens", "counted", "retained", "unattributed"})
_OF_TWIN = {f"predicted_{name}": name for name in ("counted", "live", "nodes")}


def is_own(titles: Sequence[str]) -> bool:
    """Return whether these are the headings of such a table."""
    return {title.strip().lower() for title in titles} >= _SIGNS


def write_row(rows: Rows, titles: Sequence[str], cells: Sequence[str]) -> bool:
    """Write a request; return False when its row names none, or has a figure that cannot be."""
    named = {title.strip().lower(): cell.strip() for title, cell in zip(titles, cells, strict=True)}
    if any(named.get(name) and _count(named[name]) is None for name in (*READING, *_OF_TWIN, "request", "tokens", "matched", "cached", "left", "retained")):
        return False
    count = {name: _count(text) for name, text in named.items()}
    number, tokens = count.get("request"), count.get("tokens")
    if not number:
        return False
    rows.request = number
    rows.requests += 1
    rows.add("request_began", named.get("label", ""), tokens)
    if count.get("matched") is not None or count.get("cached") is not None:
        layer = named.get("limiting_layer", "")
        rows.add("matched", tokens, count.get("matched"), count.get("cached"), count.get("left"), named.get("reason") or None, layer or None)
    parts = [count.get(name) for name in ("retained", "live", "snapshots")]
    if None not in parts and "weights" not in count:
        whole, live, snapshots = (part or 0 for part in parts)
        count["weights"] = max(0, whole - live - snapshots)
    rows.add("bytes_told", None, "close", *(count.get(name) for name in READING))
    seconds = {name: _seconds(named.get(name, "")) for name in ("prefill_s", "decode_s", "ttft_s")}
    rows.add(
        "request_closed", count.get("generated"), named.get("stop") or None, seconds["prefill_s"], seconds["decode_s"], count.get("peak"), seconds["ttft_s"]
    )
    predicted = {name: count.get(title) for title, name in _OF_TWIN.items()}
    if any(value is not None for value in predicted.values()):
        rows.add("bytes_told", PREDICTED, "close", *(predicted.get(name) for name in READING))
    rows.request = 0
    return True


def _count(text: str) -> int | None:
    bare = text.removesuffix(".0")
    digits = bare.removeprefix("-")
    return int(bare) if digits.isascii() and digits.isdecimal() and len(digits) < 20 and abs(int(bare)) <= LARGEST else None


def _seconds(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value < float(LARGEST) else None
