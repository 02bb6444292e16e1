"""Bytes and their printing: GiB = 2^30, GB = 10^9, and every printed figure names its unit.

Invariant: `parse_bytes(text)` of a figure printed by `binary` is within that print's rounding.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass

from kvlab.errors import BadValue

KIB = 2**10
MIB = 2**20
GIB = 2**30
GB = 10**9

_BINARY = (("TiB", 2**40), ("GiB", GIB), ("MiB", MIB), ("KiB", KIB))
_DECIMAL = (("TB", 10**12), ("GB", GB), ("MB", 10**6), ("kB", 10**3))
FACTORS = {name.lower(): factor for name, factor in (*_BINARY, *_DECIMAL)} | {"b": 1}
"""Bytes in a unit, by its name in small letters."""

LARGEST = 2**63 - 1
"""The largest count of bytes that a recording can hold."""

_PATTERN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([a-zA-Z]*)\s*")


@dataclass(frozen=True, slots=True)
class Unit:
    """The unit in which all bytes of one table or axis are given: its name and its size in bytes."""

    name: str
    size: int

    def shown(self, value: object, decimals: int = 2) -> str:
        """Return bytes in this unit, without its name; `-` when they were not read, `<0.01` or `>-0.01` where so few would look like none."""
        if not isinstance(value, int | float):
            return "-"
        decimals = 0 if self.size == 1 else decimals
        if value and not self.shows(value, decimals):
            return f"{'<' if value > 0 else '>-'}{10**-decimals:.{decimals}f}"
        return f"{value / self.size:.{decimals}f}"

    def shows(self, value: float, decimals: int = 2) -> bool:
        """Return whether `value` bytes print as more than nothing."""
        return abs(value) / self.size * 10 ** (0 if self.size == 1 else decimals) >= 1 / 2


def unit_for(largest: float) -> Unit:
    """Return the unit in which figures up to `largest` bytes read well: the largest one of which there are at least 4."""
    for name, size in (("GiB", GIB), ("MiB", MIB), ("KiB", KIB)):
        if largest >= 4 * size:
            return Unit(name, size)
    return Unit("B", 1)


def unit_that_shows(largest: float, values: Iterable[object]) -> Unit:
    """Return the unit for figures up to `largest` bytes in which all of `values` show; at most two units smaller than it would be for `largest` alone."""
    unit = unit_for(largest)
    least = min((abs(value) for value in values if isinstance(value, int | float) and value), default=0)
    for _ in range(2):
        if not least or unit.shows(least):
            break
        unit = unit_for(max(4, 4 * unit.size // 1024))
    return unit


def binary(count: float) -> str:
    """Return `count` bytes in binary units with two decimals, such as `8.00 GiB`; below 1 KiB in plain bytes."""
    for name, factor in _BINARY:
        if abs(count) >= factor:
            return f"{count / factor:.2f} {name}"
    return f"{count:.0f} B"


def parse_bytes(text: str | int) -> int:
    """Return the bytes that `text` names: `8GiB`, `512 MB`, `0`. A whole number is bytes; text needs a unit, only 0 has none.

    Raises:
        BadValue: the text is not a count with a known unit, or more than `LARGEST`.
    """
    if isinstance(text, int):
        return _recordable(text, text)
    if text.strip() == "0":
        return 0
    found = _PATTERN.fullmatch(text)
    factor = FACTORS.get(found[2].lower()) if found else None
    if found is None or factor is None:
        raise BadValue(
            what=f"{text!r} is not a number of bytes",
            why="a number with a unit is needed: B, KiB, MiB, GiB, TiB (powers of 1024) or kB, MB, GB, TB (powers of 1000)",
            hint="write for example 8GiB, 512MiB or 26GB",
        )
    count = float(found[1]) * factor
    return _recordable(text, round(count) if math.isfinite(count) else LARGEST + 1)


def _recordable(given: str | int, count: int) -> int:
    if count > LARGEST:
        raise BadValue(what=f"{given!r} is too many bytes", why=f"at most 2^63 - 1 bytes ({binary(LARGEST)}) can be recorded", hint="write for example 8GiB")
    return count
