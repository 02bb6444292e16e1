"""What the heading of a pasted table means: the role of each column, its gauge, its unit, and the arm of a comparison.

`SIZE GB`, `peak_gib`, `Runner RSS`, `TTFT (s)` and `before: paged out nodes reported` are read; a heading that is not known becomes a gauge of that name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kvlab.importers.figures import UNITS

REQUEST = "request"
LABEL = "label"
PROMPT = "prompt"
TOKENS = "tokens"
MATCHED = "matched"
CACHED = "cached"
LEFT = "left"
GENERATED = "generated"
TTFT = "ttft_s"
PEAK = "peak"
GAUGE = "gauge"

_ROLES = {
    REQUEST: ("req", "request", "requests", "turn", "call", "#", "request number"),
    LABEL: ("label", "state", "phase", "when", "step", "arm"),
    PROMPT: ("prompt", "prompt name", "task"),
    TOKENS: ("prompt tokens", "tokens", "total", "total tokens", "prompt eval count"),
    MATCHED: ("matched", "matched tokens"),
    CACHED: ("cached", "cached tokens"),
    LEFT: ("left", "left tokens"),
    GENERATED: ("generated", "output tokens", "eval count", "completion tokens", "tokens out"),
    TTFT: ("ttft",),
    PEAK: ("peak", "peak memory", "peak bytes"),
}
_ROLE_OF = {name: role for role, names in _ROLES.items() for name in names}

_GAUGES = {
    "size": "size",
    "reported": "reported",
    "resident": "resident",
    "resident size": "resident",
    "rss": "rss",
    "runner rss": "rss",
    "swap": "swap_used",
    "swap used": "swap_used",
    "paged out": "paged_out",
    "nodes": "nodes",
    "decode": "decode_tps",
    "decode tps": "decode_tps",
    "footprint": "footprint",
    "physical footprint": "footprint",
    "delta": "delta",
    "freed": "freed",
}
_KNOWN = sorted({*_GAUGES, *_ROLE_OF}, key=lambda name: -len(name))

_UNIT = re.compile(r"^(.*?)[\s_]*(?:[(\[]\s*([A-Za-z/µ]{1,8})\s*[)\]]|[\s_](gib|mib|kib|tib|gb|mb|kb|tb|bytes|s|ms|tps))$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Column:
    """One column, or one of several figures in a column: its role (`GAUGE` for a figure of its own), gauge, unit of bare numbers, and arm."""

    role: str
    gauge: str
    unit: str = ""
    arm: str = ""


def columns_of(title: str) -> list[Column]:
    """Return what a heading names: one column, or several figures when it lists them behind an arm's name."""
    arm, colon, rest = title.partition(":")
    if colon and rest.strip() and (names := _listed(_words(rest))) is not None:
        return [_column(name, arm.strip()) for name in names]
    return [_column(title, "")]


def _column(title: str, arm: str) -> Column:
    words, unit = _words(title), ""
    found = _UNIT.match(title.strip(" *`"))
    if found is not None and _words(found[1]) and (found[2] or found[3]).lower() in {*UNITS, "s", "ms", "tps", "tok/s"}:
        words, unit = _words(found[1]), found[2] or found[3]
    if unit.lower() in ("tps", "tok/s"):
        return Column(GAUGE, f"{words.replace(' ', '_')}_tps", "tok/s", arm)
    role = _ROLE_OF.get(words)
    if role == TTFT:
        unit = unit or "s"
    return Column(role or GAUGE, _GAUGES.get(words, words.replace(" ", "_") or "figure"), unit, arm)


def _words(title: str) -> str:
    return re.sub(r"[\s_\-]+", " ", title.strip(" *`\t").lower())[:80].strip()


def _listed(text: str) -> list[str] | None:
    """Return the names that stand one after another in `text`; None when there is none that is known or something is left."""
    names: list[str] = []
    rest = text
    while rest:
        name = next((one for one in _KNOWN if rest == one or rest.startswith(one + " ")), None)
        if name is None:
            return None
        names.append(name)
        rest = rest[len(name) :].strip()
    return names if len(names) > 1 else None
