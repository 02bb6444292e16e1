"""Traces: public recordings of what servers were asked, as a workload. The kind of file is recognised by its columns.

| kind | columns | what a prompt is |
|---|---|---|
| Mooncake (.jsonl) | timestamp (ms), input_length, output_length, hash_ids | one id a block of 512 tokens |
| Bailian (.jsonl) | the same with chat_id; timestamp in seconds | one id a block of 16 tokens |
| arrivals and lengths (.csv) | TIMESTAMP, ContextTokens, GeneratedTokens | tokens that match nothing |

A file may be packed with xz (`.jsonl.xz`). Blocks are known up to their last, which may be cut by the prompt's end; a block's tokens are the
same wherever it stands, so a match ends and a capture falls inside a block as it would. A reply's tokens match nothing: a trace does not say
which block a reply became. Requests run in order of arrival, as a server with one runner serialises them.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import lzma
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from kvlab import shipped
from kvlab.errors import BadValue, UnreadableInput
from kvlab.workloads.blocks import TraceRequests, TraceRows
from kvlab.workloads.case_fields import Fields
from kvlab.workloads.workload import Workload

MOONCAKE_BLOCK = 512
BAILIAN_BLOCK = 16
MOST_TOKENS = 100_000_000
"""Tokens of one prompt or reply at most: far beyond what any model holds, so a larger value is a damaged row."""

USUAL_SHAPE = "qwen3.8-27b"
"""The shape that a trace's prompts are run on unless told otherwise: they are far too long for a small model."""

SUFFIXES = (".jsonl", ".csv")
PACKED = ".xz"
"""What a packed trace ends with; it is unpacked as it is read."""

SHIPPED = {"mooncake": "mooncake_conversation.jsonl.xz", "azure": "azure_code.csv.xz"}
"""The traces that come with kvlab, by name; sources in `data/traces/README.md`."""

LENGTHS = {"TIMESTAMP": "arrival", "ContextTokens": "tokens", "GeneratedTokens": "output"}
"""The columns of a table of arrivals and lengths."""


def is_trace(path: str | Path) -> bool:
    """Whether a file is taken for a trace, by its name."""
    return _kind(path) in SUFFIXES


def _kind(path: str | Path) -> str:
    return Path(str(path).lower().removesuffix(PACKED)).suffix


def trace(path: str | Path) -> Workload:
    """Read a trace.

    Raises:
        UnreadableInput: the file is not there, is no JSON or table, or has no rows.
        BadValue: a row has a value that cannot be used; file, row, field and value are named.
    """
    path = Path(path)
    rows = TraceRows(path.name)
    places: dict[int, int] = {}
    try:
        with lzma.open(path, "rt", encoding="utf-8", newline="") if path.suffix.lower() == PACKED else path.open(encoding="utf-8", newline="") as file:
            for fields, block in _csv(path.name, file) if _kind(path) == ".csv" else _jsonl(path.name, file):
                _add(rows, fields, block, places)
    except (EOFError, lzma.LZMAError) as error:
        raise UnreadableInput(what=f"the trace {path.name} cannot be unpacked", why=str(error), hint="pack it again with xz") from None
    except OSError as error:
        raise UnreadableInput(what=f"the trace {path} cannot be read", why=error.strerror or str(error), hint="check the path") from None
    except UnicodeDecodeError as error:
        raise UnreadableInput(what=f"the trace {path.name} is not text", why=str(error), hint="unpack it first, if it is packed") from None
    if not len(rows):
        raise UnreadableInput(what=f"the trace {path.name} has no rows", why="a workload has at least one request", hint="check the file")
    return Workload(name=path.name, requests=TraceRequests(_by_arrival(rows)), question="budget_or_leak", shape_name=USUAL_SHAPE)


def shipped_trace(name: str) -> Workload:
    """Return a trace that comes with kvlab.

    Raises:
        BadValue: none of that name does.
    """
    if name not in SHIPPED:
        raise BadValue(what=f"no trace {name!r} comes with kvlab", why=f"the shipped ones are {', '.join(SHIPPED)}", hint="write trace:mooncake, or a path")
    return dataclasses.replace(trace(shipped.data(f"traces/{SHIPPED[name]}")), name=f"trace:{name}")


def _jsonl(name: str, lines: Iterator[str]) -> Iterator[tuple[Fields, int]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            row: Any = json.loads(line)
        except ValueError as error:
            raise UnreadableInput(what=f"{where} is not JSON", why=str(error), hint="a trace has one JSON object a line") from None
        keys = tuple(cast("dict[str, Any]", row)) if isinstance(row, dict) else ()
        fields = Fields(where, cast("object", row), keys)
        for key in ("timestamp", "input_length", "output_length", "hash_ids"):
            if key not in fields:
                raise fields.missing(key, "every row of a trace of blocks has it")
        yield fields, BAILIAN_BLOCK if "chat_id" in fields else MOONCAKE_BLOCK


def _csv(name: str, lines: Iterator[str]) -> Iterator[tuple[Fields, int]]:
    table = csv.DictReader(lines)
    columns = table.fieldnames or ()
    if missing := [column for column in LENGTHS if column not in columns]:
        raise UnreadableInput(
            what=f"{name} has the columns {', '.join(columns) or 'none'}",
            why=f"a table of arrivals and lengths has {', '.join(LENGTHS)}; {', '.join(missing)} is missing",
            hint="name its columns so",
        )
    for number, row in enumerate(table, 2):
        data: dict[str, Any] = {column: row[column] for column in LENGTHS}
        for column in ("ContextTokens", "GeneratedTokens"):
            text = row[column]
            data[column] = int(text) if text is not None and text.strip().isascii() and text.strip().isdigit() else text
        yield Fields(f"{name}, line {number}", data, LENGTHS), 0


def _add(rows: TraceRows, fields: Fields, block: int, places: dict[int, int]) -> None:
    names = ("input_length", "output_length") if block else ("ContextTokens", "GeneratedTokens")
    if rows.block != block and len(rows):
        raise fields.bad("chat_id" if "chat_id" in fields else "hash_ids", "all rows of a trace are of one kind")
    rows.block = block
    lengths = [fields.count(name, -1, least) for name, least in zip(names, (1, 0), strict=True)]
    for name, length in zip(names, lengths, strict=True):
        if length > MOST_TOKENS:
            raise fields.bad(name, f"a prompt and a reply have at most {MOST_TOKENS} tokens")
    rows.tokens.append(lengths[0])
    rows.output.append(lengths[1])
    rows.arrival.append(_seconds(fields, block))
    if block:
        _add_blocks(rows, fields, lengths[0], places)


def _add_blocks(rows: TraceRows, fields: Fields, tokens: int, places: dict[int, int]) -> None:
    ids = fields.data["hash_ids"]
    if not isinstance(ids, list) or not all(type(one) is int for one in cast("list[object]", ids)):
        raise fields.bad("hash_ids", "it is a list of block ids, whole numbers")
    count = len(cast("list[int]", ids))
    if not (count - 1) * rows.block < tokens < (count + 1) * rows.block:
        raise fields.bad("hash_ids", f"{count} blocks of {rows.block} tokens do not make a prompt of {tokens}")
    rows.blocks.extend(places.setdefault(one, len(places)) for one in cast("list[int]", ids))
    rows.ends.append(len(rows.blocks))


def _seconds(fields: Fields, block: int) -> float:
    if block:
        return fields.number("timestamp") / (1000 if block == MOONCAKE_BLOCK else 1)
    # seven digits of a second are one more than Python reads
    text = fields.text("TIMESTAMP")
    whole, dot, part = text.partition(".")
    try:
        return datetime.fromisoformat(f"{whole}{dot}{part[:6]}").timestamp()
    except ValueError:
        raise fields.bad("TIMESTAMP", "it is a date and time such as 2023-11-16 18:17:03.97") from None


def _by_arrival(rows: TraceRows) -> TraceRows:
    order = sorted(range(len(rows)), key=rows.arrival.__getitem__)
    first = rows.arrival[order[0]]
    found = TraceRows(rows.where, rows.block)
    for place in order:
        found.arrival.append(rows.arrival[place] - first)
        found.tokens.append(rows.tokens[place])
        found.output.append(rows.output[place])
        if rows.block:
            found.blocks.extend(rows.blocks[rows.ends[place - 1] if place else 0 : rows.ends[place]])
            found.ends.append(len(found.blocks))
    return found
