"""Formats of logs and tools' outputs, as data: one TOML file each under `formats/`, read and checked once.

A format has a `name`, what it is `about`, and lines, columns and answers:

- `[[line]]`: `has`, a literal that every such line holds; `pattern`, which matches the whole line, with its fields as named groups; `opens`: begins a block of
  this format; `inside`: only within one; `closes`: ends it; `repeat`: the pattern matches several times in a line.
- `[[columns]]`, rows under a heading: `heading`, a pattern of the line of headings; `fields`, by heading; `split`: `gaps` (two spaces or a tab) or `words`.
- `[[record]]`, records `msg=… name=value` of a log that is read many at once: `begins`, how the message may begin as printed; `pattern`, searched from there.
- `[[answer]]`, JSON: `has`, keys of the outer object; `each`, the path to a list of objects if the fields are in one; `fields`, by path.
- All: `request`: `before`, `begins`, `within` or `ends`, what it is to a request; `event`: what it becomes too, one of `EVENTS` (of a record, what its reader
  calls it); `set`: fields with a constant value, or made of others (`{label} was killed`); `unit`: by field, of figures that are printed without one;
  `sample` and `gives`: a text of it, and what its fields must be.
- `[gauges]`: figures that this server alone prints, with their meaning.
- `names`: fields by the words that a tool prints, where a pattern has the groups `name` and `value`; `binary`: KB, MB and GB are powers of 1024.

A field is a request's (`REQUEST_FIELDS`), part of an event (`OTHER_FIELDS`), or a gauge of `gauges.toml`, which says its meaning: resident bytes, footprint,
SIZE and the allocator's active bytes are four different numbers, and a gauge is never renamed into another one. A table's own headings may add others.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, cast

_HERE = files("kvlab.importers")
_FORMATS: list[dict[str, Any]] = [tomllib.loads(one.read_text(encoding="utf-8")) for one in (_HERE / "formats").iterdir() if one.name.endswith(".toml")]
_GAUGES: dict[str, dict[str, str]] = tomllib.loads((_HERE / "gauges.toml").read_text(encoding="utf-8"))

GAUGES: dict[str, str] = {name: meaning for part in (*_GAUGES.values(), *(one.get("gauges", {}) for one in _FORMATS)) for name, meaning in part.items()}
"""The meaning of each gauge; those that a format names itself are no bytes."""

OF_BYTES = frozenset(_GAUGES["bytes"])
OF_WORDS = frozenset(_GAUGES["words"])

COUNTS = ("tokens", "matched", "cached", "left", "generated", "done", "similarity", "share")
SECONDS = ("ttft_s", "prefill_s", "decode_s")
REQUEST_FIELDS = frozenset({*COUNTS, *SECONDS, "peak", "reason", "layer", "stop"})
"""What is known of a request; `done` of its prefill so far, in tokens or as a `share`; `similarity` of its prompt to the one before."""

OTHER_FIELDS = frozenset({
    *("key", "label", "pid", "ppid", "port", "process", "command", "model", "digest", "until", "time", "message", "name", "value", "page"),
    *("method", "call", "status", "seconds", "state", "generate_tokens", "generate_tps", "prompt_tps"),
})  # fmt: skip
"""Parts of events. `key` tells requests apart that run at one time; `page` is the bytes of a page."""

EVENTS = frozenset({"served", "warned", "process_seen", "listed", "runner_changed", "life_sign", "moment", "began_anew"})
REQUEST = frozenset({"", "before", "begins", "within", "ends"})


@dataclass(frozen=True, slots=True)
class Spec:
    """What lines, columns and answers share.

    Attributes:
        format: The format's name.
        name: What the summary calls it.
        request: What it is to a request.
        event: The event it becomes besides its figures; "" for none.
        set: Fields with constant values.
        unit: Units of figures without one, by field.
        sample: A line or text of it.
        gives: The fields that the sample must give.
        binary: KB, MB and GB are powers of 1024.
        names: Fields by the words that the tool prints.
    """

    format: str
    name: str
    request: str = ""
    event: str = ""
    set: Mapping[str, str] = field(default_factory=dict[str, str])
    unit: Mapping[str, str] = field(default_factory=dict[str, str])
    sample: str = ""
    gives: Mapping[str, Any] = field(default_factory=dict[str, Any])
    binary: bool = False
    names: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Spec):
    """Lines of one kind; the attributes are those of `[[line]]`."""

    has: str
    pattern: re.Pattern[str]
    opens: bool = False
    inside: bool = False
    closes: bool = False
    repeat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Record(Spec):
    """Records of one kind; the attributes are those of `[[record]]`. Without a pattern what reads them is given the whole text."""

    begins: tuple[str, ...]
    pattern: re.Pattern[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns(Spec):
    """Rows under a heading; the attributes are those of `[[columns]]`."""

    heading: re.Pattern[str]
    split: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Spec):
    """JSON of one shape; the attributes are those of `[[answer]]`."""

    has: tuple[str, ...]
    each: str
    fields: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Format:
    """One format."""

    name: str
    about: str
    lines: tuple[Line, ...] = ()
    records: tuple[Record, ...] = ()
    columns: tuple[Columns, ...] = ()
    answers: tuple[Answer, ...] = ()


@cache
def formats() -> dict[str, Format]:
    """Return all formats by name, those with a smaller `order` first: a line that fits two belongs to the first."""
    read = sorted(((table.get("order", 50), read_format(table)) for table in _FORMATS), key=lambda one: (one[0], one[1].name))
    return {format_.name: format_ for _, format_ in read}


def read_format(table: Mapping[str, Any]) -> Format:
    """Return a format.

    Raises:
        ValueError: a field is none that is known, or a key is missing or has a value that it cannot have.
    """
    name = str(table["name"])
    common: dict[str, Any] = {"format": name, "binary": bool(table.get("binary")), "names": cast("dict[str, str]", table.get("names", {}))}
    lines, records, columns, answers = (cast("list[dict[str, Any]]", table.get(part, [])) for part in ("line", "record", "columns", "answer"))
    return Format(
        name,
        str(table["about"]),
        tuple(_line(one, common) for one in lines),
        tuple(Record(**_shared(one, common), begins=tuple(one["begins"]), pattern=re.compile(one.get("pattern", "(?P<text>.*)"))) for one in records),
        tuple(_columns(one, common) for one in columns),
        tuple(_answer(one, common) for one in answers),
    )


def _line(table: dict[str, Any], common: dict[str, Any]) -> Line:
    pattern = re.compile(table["pattern"])
    _check(table, common, set(pattern.groupindex) | set(common["names"].values()))
    flags: dict[str, Any] = {key: bool(table.get(key)) for key in ("opens", "inside", "closes", "repeat")}
    return Line(**_shared(table, common), **flags, has=table["has"], pattern=pattern)


def _columns(table: dict[str, Any], common: dict[str, Any]) -> Columns:
    _check(table, common, {name for names in table["fields"].values() for name in names.split(" / ")})
    return Columns(**_shared(table, common), heading=re.compile(table["heading"]), split=table.get("split", "gaps"), fields=table["fields"])


def _answer(table: dict[str, Any], common: dict[str, Any]) -> Answer:
    _check(table, common, set(table["fields"].values()))
    return Answer(**_shared(table, common), has=tuple(table["has"]), each=table.get("each", ""), fields=table["fields"])


def _shared(table: dict[str, Any], common: dict[str, Any]) -> dict[str, Any]:
    keys = ("request", "event", "set", "unit", "sample", "gives")
    return common | {"name": table.get("name", common["format"])} | {key: table[key] for key in keys if key in table}


def _check(table: dict[str, Any], common: dict[str, Any], fields: set[str]) -> None:
    named = fields | set(table.get("set", {})) | set(table.get("unit", {})) - {"value"}
    strange = {one for one in named if one not in REQUEST_FIELDS | OTHER_FIELDS and one not in GAUGES}
    if strange or table.get("request", "") not in REQUEST or (table.get("event") and table["event"] not in EVENTS):
        where = f"format {common['format']!r}, {table.get('name', table.get('pattern', ''))!r}"
        msg = f"{where}: {', '.join(sorted(strange)) or table.get('request') or table.get('event')} is not known"
        raise ValueError(msg)
