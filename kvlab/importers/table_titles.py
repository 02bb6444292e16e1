"""What the heading of a pasted table means: the role of each column, its gauge, its unit, and the arm of a comparison.

The words are in `vocabulary.toml`, by language. A heading may have a unit (`SIZE GB`, `TTFT (s)`), a remark in brackets, a prompt's length (`TTFT pp131072`),
and whose figure it is (`llama-server RSS`). One that is not known becomes a gauge of that name.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.resources import files

from kvlab.importers.figures import SECONDS, UNITS
from kvlab.importers.formats import GAUGES, OF_BYTES

REQUEST, LABEL, PROMPT, TOKENS, MATCHED, CACHED, LEFT, GENERATED = "request", "label", "prompt", "tokens", "matched", "cached", "left", "generated"
TTFT, PEAK, TIME, PID, GAUGE = "ttft_s", "peak", "time", "pid", "gauge"
COUNTS = frozenset({REQUEST, TOKENS, MATCHED, CACHED, LEFT, GENERATED})
"""Roles of whole numbers."""

_VOCABULARY = tomllib.loads(files("kvlab.importers").joinpath("vocabulary.toml").read_text(encoding="utf-8"))


def _by_name(part: str) -> dict[str, str]:
    return {name: meaning for meaning, languages in _VOCABULARY[part].items() for names in languages.values() for name in names}


_ROLE_OF, _GAUGES = _by_name("roles"), _by_name("gauges")
_TAILS: list[str] = sorted(_VOCABULARY["tails"]["names"], key=len, reverse=True)
_KNOWN = sorted({*_GAUGES, *_ROLE_OF}, key=lambda name: -len(name))

_DIFFERENCES = frozenset({"freed", "freed_expected", "delta"})
_PROBED = frozenset({"answer_of", "nonce_ok", "num_ctx", "decode_s", "n", "asked_context", "swapped_out_since", "mapped", "anonymous", "heap"})

_UNIT = re.compile(r"^(.*?)[\s_,]*(?:[(\[]\s*([A-Za-z/µ]{1,8})\s*[)\]]|[\s_](gib|mib|kib|tib|gb|mb|kb|tb|bytes|s|ms|tps))$", re.IGNORECASE)
_REMARK = re.compile(r"\s*[(\[\uff08][^)\]\uff09]{0,120}[)\]\uff09]\s*$")
_LENGTH = re.compile(r"\s*\bpp(\d{1,9})\b")


@dataclass(frozen=True, slots=True)
class Column:
    """One column, or one of several figures in a column: its role (`GAUGE` for a figure of its own), gauge, unit of bare numbers, and arm.

    Attributes:
        role: What it is to its row.
        gauge: What was read.
        unit: That of bare numbers.
        arm: Of which arm of a comparison it is, or whose figure; "" when the heading does not say.
        tokens: The prompt's length, when the heading says it.
    """

    role: str
    gauge: str
    unit: str = ""
    arm: str = ""
    tokens: int | None = None


def columns_of(title: str) -> list[Column]:
    """Return what a heading names: one column, or several figures when it lists them behind an arm's name."""
    arm, colon, rest = title.partition(":")
    if colon and rest.strip() and (names := _listed(_words(rest))) is not None:
        return [_column(name, arm.strip()) for name in names]
    return [replace(_column(title, ""), arm="")]


def arms_of(titles: Sequence[str]) -> list[list[Column]]:
    """Return the columns of all headings; where several have the same gauge, what is before it is an arm."""
    found = [columns_of(title) for title in titles]
    single = [_column(title, "") for title in titles]
    same = [one.gauge for one, several in zip(single, found, strict=True) if len(several) == 1 and one.role == GAUGE]
    return [[one] if len(several) == 1 and one.arm and same.count(one.gauge) > 1 else several for one, several in zip(single, found, strict=True)]


def is_known(column: Column) -> bool:
    """Return whether a column is one that some question reads, whatever is in it."""
    return column.role != GAUGE or column.gauge in GAUGES or column.gauge in _PROBED or column.gauge.endswith("_tps")


def nearest(title: str) -> str | None:
    """Return the known heading that is most like an unknown one; None when none is."""
    found = difflib.get_close_matches(_words(_REMARK.sub("", title)), _KNOWN, 1, 0.7)
    return found[0] if found else None


def holds_bytes(column: Column) -> bool:
    """Return whether the figures of a column are bytes, whichever unit they are in."""
    return column.role == PEAK or (column.role == GAUGE and column.gauge in OF_BYTES)


def may_be_negative(column: Column) -> bool:
    """Return whether a figure of a column may be below 0: only a difference may, among those that are known."""
    return column.role == GAUGE and (column.gauge in _DIFFERENCES or not is_known(column))


def _column(title: str, arm: str) -> Column:
    length = _LENGTH.search(title)
    bare = _LENGTH.sub("", title).strip(" *`\t") if length else title.strip(" *`\t")
    words, unit = _words(bare), ""
    if words not in _ROLE_OF and words not in _GAUGES:
        found = _UNIT.match(bare)
        if found is not None and _words(found[1]) and (found[2] or found[3]).lower() in {*UNITS, "s", "ms", "tps", "tok/s"}:
            words, unit = _words(found[1]), found[2] or found[3]
        elif _words(_REMARK.sub("", bare)):
            words = _words(_REMARK.sub("", bare))
    tokens = int(length[1]) if length else None
    if unit.lower() in SECONDS and words == "decode":
        words = "decode s"
    if unit.lower() in ("tps", "tok/s"):
        return Column(GAUGE, f"{words.replace(' ', '_')}_tps", "tok/s", arm, tokens)
    whose = ""
    if words not in _ROLE_OF and words not in _GAUGES:
        tail = next((one for one in _TAILS if words.endswith(" " + one)), None)
        if tail is not None:
            words, whose = tail, words.removesuffix(tail).strip()
    role, gauge = _ROLE_OF.get(words), _GAUGES.get(words, words.replace(" ", "_") or "figure")
    unit = unit or ("s" if role == TTFT else "tok/s" if gauge.endswith("_tps") else "")
    return Column(role or GAUGE, gauge, unit, arm or whose, tokens)


def _words(title: str) -> str:
    return re.sub(r"[\s_\-]+", " ", re.sub(r"[*`]", "", title).strip().lower())[:80].strip()


def is_name(text: str) -> bool:
    """Return whether a text is a heading that is known."""
    column = _column(text, "")
    return bool(_words(text)) and (column.role != GAUGE or column.gauge in GAUGES or column.gauge in _PROBED)


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
