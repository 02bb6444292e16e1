"""What the heading of a pasted table means: the role of each column, its gauge, its unit, and the arm of a comparison.

`SIZE GB`, `peak_gib`, `Runner RSS`, `TTFT (s)` and `before: paged out nodes reported` are read; a heading that is not known becomes a gauge of that name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from kvlab.importers.figures import SECONDS, UNITS
from kvlab.importers.gauges import GAUGES

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
TIME = "time"
GAUGE = "gauge"

_ROLES = {
    REQUEST: ("req", "request", "requests", "turn", "call", "#", "request number", "anfrage"),
    LABEL: ("label", "state", "phase", "when", "step", "arm"),
    PROMPT: ("prompt", "prompt name", "task"),
    TOKENS: ("prompt tokens", "tokens", "total", "total tokens", "prompt eval count"),
    MATCHED: ("matched", "matched tokens"),
    CACHED: ("cached", "cached tokens"),
    LEFT: ("left", "left tokens"),
    GENERATED: ("generated", "output tokens", "eval count", "completion tokens", "tokens out"),
    TTFT: ("ttft",),
    PEAK: ("peak", "peak memory", "peak bytes"),
    TIME: ("time", "ts", "timestamp", "date", "at", "moment", "zeit", "datum", "zeitpunkt"),
}
_ROLE_OF = {name: role for role, names in _ROLES.items() for name in names}

_GAUGES = {
    "size": "size",
    "größe": "size",
    "groesse": "size",
    "taille": "size",
    "tamaño": "size",
    "size vram": "size_vram",
    "vram": "size_vram",
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
    "decode s": "decode_s",
    "answer of": "answer_of",
    "nonce ok": "nonce_ok",
    "num ctx": "num_ctx",
    "n": "n",
}
_KNOWN = sorted({*_GAUGES, *_ROLE_OF}, key=lambda name: -len(name))

_NO_BYTES = frozenset({
    "processor", "free_share", "pressure", "nodes", "prompt_cache_sequences", "decode_tps",
})  # fmt: skip
_OF_BYTES = frozenset(GAUGES) - _NO_BYTES
_DIFFERENCES = frozenset({"freed", "freed_expected", "delta"})
_PROBED = frozenset({"answer_of", "nonce_ok", "num_ctx", "decode_s", "n", "asked_context", "swapped_out_since", "mapped", "anonymous", "heap"})

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


def is_known(column: Column) -> bool:
    """Return whether a column is one that some question reads, whatever stands in it."""
    return column.role != GAUGE or column.gauge in GAUGES or column.gauge in _PROBED or column.gauge.endswith("_tps")


def holds_bytes(column: Column) -> bool:
    """Return whether the figures of a column are bytes, whichever unit they are in."""
    return column.role == PEAK or (column.role == GAUGE and column.gauge in _OF_BYTES)


def may_be_negative(column: Column) -> bool:
    """Return whether a figure of a column may be below 0: only a difference may, among those that are known."""
    return column.role == GAUGE and (column.gauge in _DIFFERENCES or not is_known(column))


def _column(title: str, arm: str) -> Column:
    words, unit = _words(title), ""
    found = _UNIT.match(title.strip(" *`"))
    if found is not None and _words(found[1]) and (found[2] or found[3]).lower() in {*UNITS, "s", "ms", "tps", "tok/s"}:
        words, unit = _words(found[1]), found[2] or found[3]
    if unit.lower() in SECONDS and words == "decode":
        words = "decode s"
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
