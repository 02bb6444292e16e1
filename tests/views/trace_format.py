"""The trace-event format: what of a trace does not follow it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def problems(trace: dict[str, Any]) -> list[str]:
    """Return what of a trace does not follow the format; an empty list when all does."""
    found: list[str] = []
    open_slices: dict[tuple[str, int, str], int] = {}
    complete: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for row in trace["traceEvents"]:
        kind = row.get("ph")
        missing = [name for name in _NEEDED.get(kind, ("unknown ph",)) if name not in row]
        if missing:
            found.append(f"{kind} {row.get('name')!r} lacks {', '.join(missing)}")
            continue
        if kind != "M" and not row["ts"] >= 0:
            found.append(f"{row['name']!r} is at {row['ts']}")
        if kind == "X":
            complete.setdefault((row["pid"], row["tid"]), []).append((row["ts"], row["ts"] + row["dur"]))
            if row["dur"] < 0:
                found.append(f"{row['name']!r} lasts {row['dur']}")
        if kind == "C" and not all(isinstance(value, int | float) for value in row["args"].values()):
            found.append(f"counter {row['name']!r} counts what is no number")
        if kind in _PAIRS:
            family, step = _PAIRS[kind]
            key = (family, row["pid"] if family == "async" else 0, f"{row['cat']}:{row['id']}")
            open_slices[key] = open_slices.get(key, 0) + step
    found += [f"{family} {name} begins and ends {balance:+d}" for (family, _, name), balance in open_slices.items() if balance]
    for (pid, tid), slices in complete.items():
        found += [f"thread {pid}/{tid}: slices at {start} and {end} overlap" for start, end in _crossing(slices)]
    return found


_NEEDED: dict[str, tuple[str, ...]] = {
    "M": ("name", "pid", "args"),
    "X": ("name", "cat", "pid", "tid", "ts", "dur"),
    "i": ("name", "cat", "pid", "tid", "ts", "s"),
    "C": ("name", "pid", "ts", "args"),
    "b": ("name", "cat", "pid", "tid", "ts", "id"),
    "e": ("name", "cat", "pid", "tid", "ts", "id"),
    "s": ("name", "cat", "pid", "tid", "ts", "id"),
    "f": ("name", "cat", "pid", "tid", "ts", "id", "bp"),
}
_PAIRS = {"b": ("async", 1), "e": ("async", -1), "s": ("flow", 1), "f": ("flow", -1)}


def _crossing(slices: list[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    ends: list[float] = []
    for start, end in sorted(slices, key=lambda one: (one[0], -one[1])):
        while ends and ends[-1] <= start:
            ends.pop()
        if ends and end > ends[-1]:
            yield start, ends[-1]
        ends.append(end)
