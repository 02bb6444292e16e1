"""Figures as people and tools write them: `~24 GB`, `**74.6 GB**`, `32,4 GB`, `1,371,136 KB`, `-51.56 GB`, `20.5G`, `2m1.63s`, `58.7 tok/s`.

Rules: GiB = 2^30 and GB = 10^9; a lone K, M, G or T is binary, as vmmap, footprint traces and Activity Monitor's relatives print it. A comma
or a point before exactly three figures separates thousands when the unit is B or in the thousands, or when there are several of them; before GB, GiB and larger
units it is a decimal sign, because thousands of gigabytes are not seen. Signs of vagueness (`~`, `>=`, bold marks) are dropped.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import lru_cache

from kvlab.units import FACTORS, LARGEST

_SHORT = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
UNITS: dict[str, int] = FACTORS | _SHORT | {f"{name}i": factor for name, factor in _SHORT.items()} | {"byte": 1, "bytes": 1}
"""Bytes in a unit, by its name in small letters: those of kvlab.units, and what tools write besides."""

SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0, "secs": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
"""Seconds in a unit of time."""

LONGEST = 64
"""Letters a figure has at most."""

FIRST_LETTERS = frozenset("0123456789-+\u2212")
"""What a figure begins with."""

_BETWEEN = "'\u2019\u00a0\u202f\u2009_"
_NUMBER = rf"[-+\u2212]?\d(?:[\d.,{_BETWEEN}]*\d)?"
_FIGURE = re.compile(rf"({_NUMBER}(?:[eE][-+]?\d{{1,3}})?)(\s*)([^\W\d_][\w/%µμ]*|%)?")
_GROUPS = re.compile(r"\d{1,3}(?: \d{3})+")
_DURATION = re.compile(r"([-+]?)((?:\d+(?:\.\d+)?(?:ns|us|µs|μs|ms|h|m|s))+)")
_PIECE = re.compile(r"(\d+(?:\.\d+)?)(ns|us|µs|μs|ms|h|m|s)")
_REMARK = re.compile(r"(?<=\S)\s*(?:[(\[\uff08][^)\]\uff09]*[)\]\uff09]|(?:<-|<=|\u2190|#|//|; | \u2013 | \u2014 ).*)\s*$")
_DRESS = re.compile(r"^[\s~≈<>=*`]+|[\s*`]+$")
_ATTACHED = frozenset({*UNITS, *SECONDS, "%", "x"})
_GIGA = frozenset({"gb", "gib", "g", "tb", "tib", "t"})


@dataclass(frozen=True, slots=True)
class Figure:
    """One figure.

    Attributes:
        observed: Bytes, when the unit is one of bytes.
        number: Seconds, when the unit is one of time; else the bare number.
        unit: The unit as it was found.
        step: Bytes between this print and the next one that differs; None when not bytes.
    """

    observed: int | None
    number: float | None
    unit: str
    step: int | None


def read_figure(text: str, unit: str = "") -> Figure | None:
    """Return the figure that `text` is, a bare number in `unit`; None when it is none, or larger than a recording holds."""
    bare = undressed(text)
    if not bare or len(bare) > LONGEST:
        return None
    if _GROUPS.fullmatch(bare):
        bare = bare.replace(" ", "")
    if _DURATION.fullmatch(bare) and not bare.endswith("m"):
        seconds = read_duration(bare)
        return None if seconds is None else Figure(None, seconds, "s", None)
    found = _FIGURE.fullmatch(bare)
    if found is None or (found[3] and not found[2] and found[3].lower() not in _ATTACHED):
        return None
    return made(found[1], found[3] or unit)


def made(number: str, unit: str) -> Figure | None:
    """Return a number with its unit as a figure; None when it is too large."""
    factor = UNITS.get(unit.lower())
    plain = _plain(number, unit.lower())
    if plain is None:
        return None
    value = float(plain)
    if not math.isfinite(value):
        return None
    if factor is None:
        seconds = SECONDS.get(unit.lower())
        return Figure(None, value if seconds is None else value * seconds, unit if seconds is None else "s", None)
    count = int(plain) * factor if plain.lstrip("-").isdigit() else round(value * factor)
    if abs(count) > LARGEST:
        return None
    decimals = len(plain.partition(".")[2].partition("e")[0])
    return Figure(count, None, unit, max(1, round(factor / 10**decimals)))


@lru_cache(maxsize=4096)
def size(text: str) -> int | None:
    """Return the bytes that `16.96 GiB` names; None when it names none."""
    figure = read_figure(text)
    return figure.observed if figure is not None else None


def without_remark(text: str) -> str:
    """Return a figure's text without what somebody wrote behind it: `249 s (+37%)`, `60.58 GiB <- swap`."""
    return _REMARK.sub("", undressed(text))


def undressed(text: str) -> str:
    """Return `text` without signs of vagueness and bold marks around it."""
    return _DRESS.sub("", text.strip())


@lru_cache(maxsize=4096)
def read_duration(text: str) -> float | None:
    """Return the seconds of a Go duration such as `2m1.63s`, `50.417µs` or `3m47s`; None when it is none."""
    found = _DURATION.fullmatch(text)
    if found is None or len(text) > LONGEST:
        return None
    seconds = sum(float(count) * SECONDS[unit] for count, unit in _PIECE.findall(found[2]))
    return -seconds if found[1] == "-" else seconds


def _plain(number: str, unit: str) -> str | None:
    """Return a number with a point as its decimal sign and nothing between thousands; None when it cannot be read."""
    text = re.sub(f"[{_BETWEEN}]", "", number.replace("\u2212", "-").lower()).lstrip("+")
    comma, point = text.rfind(","), text.rfind(".")
    if comma >= 0 and point >= 0:
        # the later one is the decimal sign
        text = text.replace(",", "") if point > comma else text.replace(".", "").replace(",", ".")
    elif comma >= 0:
        text = text.replace(",", "") if _is_thousands(text, ",", unit) else text.replace(",", ".")
    elif text.count(".") > 1 or (point >= 0 and unit in {"b", "bytes", "kb", "kib", "k"} and _is_thousands(text, ".", unit)):
        text = text.replace(".", "")
    return text if re.fullmatch(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text) else None


def _is_thousands(text: str, sign: str, unit: str) -> bool:
    groups = text.lstrip("-").split(sign)
    if len(groups) > 2:
        return True
    return len(groups[1]) == 3 and 1 <= len(groups[0]) <= 3 and groups[0] != "0" and unit not in _GIGA
