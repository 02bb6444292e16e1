"""What kvlab's own logs tell beside Ollama's: attributes `kvlab.NAME=` after a record's own, which readers skip as they skip any key they do not know.

| record | keys |
|---|---|
| `cache hit`, `cache miss` | `label`, `reason`, `layer` |
| `failed to restore cache` and `kvlab warning` | `message` |
| `prefix cache active_tokens` and `kvlab prediction` (what the twin holds after the last request) | `BytesRead`'s fields, in whole bytes |
| a node of a dump | `node`: its number; `snapshots`: those it holds, `;` between them, each `number,group,layer,start,end,state,counted,retained,call site` |
| `peak memory` | `generated`, `stop`, `ttft_s`, `prefill_s`, `decode_s`, `peak` |

Invariants: counts have at most 18 figures, as everywhere in a log; a value that cannot be read is None; an absent one is None too.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

PREFIX = "kvlab."

WARNING = "kvlab warning"
"""The message of a warning that Ollama has no record for."""

PREDICTION = "kvlab prediction"
"""The message of a reading of the twin beside a run."""

MOST_LETTERS = 2_000
"""Letters of a text that are read."""

_ATTRIBUTE = re.compile(rb' kvlab\.(\w{1,40})=("(?:[^"\\]|\\.)*"|[^\s"]\S*)')
_COUNT = re.compile(r"-?\d{1,18}")
_BARE = re.compile(r"[^\s=\"\\]+")

Told = dict[str, str]


class ToldSnapshot(NamedTuple):
    """A snapshot on a node of a dump, with the columns of the table `spans`.

    Attributes:
        snapshot: Its number in the run that was written.
        group: Its layer group.
        layer: Its layer kind.
        start: Its first token's offset.
        end: The offset after its last token.
        state: lazy, owned or view.
        counted: Bytes the budget counts.
        retained: Bytes it keeps allocated.
        call_site: The Python code that took or copied it.
    """

    snapshot: int
    group: int | None
    layer: str | None
    start: int | None
    end: int | None
    state: str | None
    counted: int | None
    retained: int | None
    call_site: str | None


class ToldNode(NamedTuple):
    """What is told of a node: its number in the run that was written, and its snapshots."""

    node: int
    snapshots: tuple[ToldSnapshot, ...]


def attributes(told: dict[str, Any]) -> str:
    """Return values as attributes, a space before each; those that are None are left out."""
    return "".join(f" {PREFIX}{name}={_written(value)}" for name, value in told.items() if value is not None)


def node_attributes(node: ToldNode) -> str:
    """Return what is told of a node as attributes."""
    listed = ";".join(",".join("" if value is None else quote(str(value), safe="") for value in one) for one in node.snapshots)
    return attributes({"node": node.node, "snapshots": listed or None})


def told(line: bytes) -> Told:
    """Return the values that a record carries, by name without the prefix; {} for a record of Ollama's own."""
    if b" kvlab." not in line:
        return {}
    return {name.decode(): _text(value.decode("utf-8", "replace")) for name, value in _ATTRIBUTE.findall(line)}


def count(values: Told, name: str) -> int | None:
    """Return a whole number; None when it is absent or none."""
    text = values.get(name, "")
    return int(text) if _COUNT.fullmatch(text) else None


def seconds(values: Told, name: str) -> float | None:
    """Return seconds; None when they are absent or no number."""
    try:
        found = float(values.get(name, ""))
    except ValueError:
        return None
    return found if math.isfinite(found) else None


def words(values: Told, name: str) -> str | None:
    """Return a text; None when it is absent."""
    text = values.get(name)
    return None if text is None else text[:MOST_LETTERS]


def told_node(rest: bytes) -> ToldNode | None:
    """Return what stands after a node's label; None when its number is missing or a snapshot cannot be read."""
    values = told(b" " + rest.lstrip())
    node = count(values, "node")
    if node is None or node < 0:
        return None
    listed = values.get("snapshots", "")
    snapshots = [_snapshot(one) for one in listed.split(";")] if listed else []
    whole = tuple(one for one in snapshots if one is not None)
    return ToldNode(node, whole) if len(whole) == len(snapshots) else None


def _snapshot(text: str) -> ToldSnapshot | None:
    cells = [unquote(cell) for cell in text.split(",")]
    if len(cells) != len(ToldSnapshot._fields) or any(cell and not _COUNT.fullmatch(cell) for cell in (*cells[:2], *cells[3:5], *cells[6:8])):
        return None
    number, group, layer, start, end, state, counted, retained, site = cells
    if not number:
        return None
    bytes_ = [int(cell) if cell else None for cell in (group, start, end, counted, retained)]
    return ToldSnapshot(int(number), bytes_[0], layer[:40] or None, bytes_[1], bytes_[2], state[:40] or None, bytes_[3], bytes_[4], site or None)


def _written(value: object) -> str:
    text = repr(value) if isinstance(value, float) else str(value)
    return text if _BARE.fullmatch(text) and text.isprintable() else json.dumps(text, ensure_ascii=not text.isprintable())


def _text(value: str) -> str:
    if not value.startswith('"'):
        return value
    try:
        return str(json.loads(value, strict=False))
    except ValueError:
        return value.strip('"')
