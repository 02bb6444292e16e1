"""Traces: public recordings of the requests that servers received, as a workload. The kind of file is recognised by its columns.

| kind | columns | what a prompt is |
|---|---|---|
| Mooncake (.jsonl) | timestamp (ms), input_length, output_length, hash_ids | one id a block, usually of 512 tokens |
| Bailian (.jsonl) | the same with chat_id; timestamp in seconds | one id a block, usually of 16 tokens |
| arrivals and lengths (.csv) | TIMESTAMP, ContextTokens, GeneratedTokens | tokens that match nothing |

How long a block is follows from all rows (`blocks.block_size`). A file may be packed with gzip or xz (`.jsonl.gz`), and may begin with a
byte-order mark. Blocks are known up to their last, which may be cut by the prompt's end; a block's tokens are the
same wherever it occurs, so a match ends and a capture falls inside a block as it would. A reply's tokens match nothing: a trace does not say
which block a reply became. Requests run in order of arrival, as a server with one runner serialises them.
"""

from __future__ import annotations

import csv
import dataclasses
import json
from array import array
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta, Struct

from kvlab import shipped
from kvlab.errors import BadValue, UnreadableInput, shown
from kvlab.packed import lines_of, unpacked_name
from kvlab.typed_json import Amount, Count, Placed, Text
from kvlab.workloads.blocks import BAILIAN_BLOCK, MOONCAKE_BLOCK, TraceRequests, TraceRows, agrees, block_size
from kvlab.workloads.workload import Workload

MOST_TOKENS = 100_000_000
"""Tokens of one prompt or reply at most: far beyond what any model holds, so a larger value is a damaged row."""

USUAL_SHAPE = "qwen3.8-27b"
"""The default shape for a trace: its prompts are far too long for a small model."""

SUFFIXES = (".jsonl", ".csv")
SHIPPED = {"mooncake": "mooncake_conversation.jsonl.xz", "azure": "azure_code.csv.xz"}
"""The traces that come with kvlab, by name; sources in `data/traces/README.md`."""

LENGTHS = ("TIMESTAMP", "ContextTokens", "GeneratedTokens")
"""The columns of a table of arrivals and lengths."""


def is_trace(path: str | Path) -> bool:
    """Whether a file is taken for a trace, by its name."""
    return _kind(path) in SUFFIXES


def _kind(path: str | Path) -> str:
    return Path(unpacked_name(path).lower()).suffix


def trace(path: str | Path) -> Workload:
    """Read a trace.

    Raises:
        UnreadableInput: the file is not there, cannot be unpacked, is no JSON or table, or has no rows.
        BadValue: a row has a value that cannot be used; file, row, field and value are named.
    """
    path = Path(path)
    try:
        with lines_of(path) as lines:
            rows = _read(path.name, (_csv if _kind(path) == ".csv" else _jsonl)(path.name, lines))
    except OSError as error:
        raise UnreadableInput(what=f"the trace {path} cannot be read", why=error.strerror or str(error), hint="check the path") from None
    except UnicodeDecodeError as error:
        raise UnreadableInput(what=f"the trace {path.name} is not text", why=str(error), hint="unpack it first, if it is packed") from None
    except csv.Error as error:
        raise UnreadableInput(what=f"the trace {path.name} is no table", why=str(error), hint="give a table of columns with commas between them") from None
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


class _BlockRow(Struct, frozen=True):
    """A row of a trace of blocks; it may have other keys too."""

    timestamp: Amount
    input_length: Annotated[int, Meta(ge=1, le=MOST_TOKENS)]
    output_length: Annotated[int, Meta(ge=0, le=MOST_TOKENS)]
    hash_ids: list[Count]


class _LengthRow(Struct, frozen=True, rename={"arrival": "TIMESTAMP", "input_length": "ContextTokens", "output_length": "GeneratedTokens"}):
    """A row of a table of arrivals and lengths."""

    arrival: Text
    input_length: Annotated[int, Meta(ge=1, le=MOST_TOKENS)]
    output_length: Annotated[int, Meta(ge=0, le=MOST_TOKENS)]


def _jsonl(name: str, lines: Iterator[str]) -> Iterator[tuple[int, Placed[Any]]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        where = f"{name}, line {number}"
        try:
            row: object = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise UnreadableInput(what=f"{where} is not JSON", why=str(error), hint="a trace has one JSON object a line") from None
        yield number, Placed(where, row, _BlockRow)


def _csv(name: str, lines: Iterator[str]) -> Iterator[tuple[int, Placed[Any]]]:
    table = csv.DictReader(lines)
    columns = table.fieldnames or ()
    if missing := [column for column in LENGTHS if column not in columns]:
        raise UnreadableInput(
            what=f"{name} has the columns {', '.join(columns) or 'none'}",
            why=f"a table of arrivals and lengths has {', '.join(LENGTHS)}; {', '.join(missing)} is missing",
            hint="name its columns so",
        )
    for number, row in enumerate(table, 2):
        data = {column: int(text) if (text := row[column]) and text.strip().isascii() and text.strip().isdigit() else text for column in LENGTHS}
        yield number, Placed(f"{name}, line {number}", data, _LengthRow)


def _read(name: str, placed: Iterator[tuple[int, Placed[Any]]]) -> TraceRows:
    """Return all rows; how long a block is follows when all are there.

    Raises:
        BadValue: a row is of another kind than the first, or its blocks do not make its prompt.
    """
    rows, usual = TraceRows(name), None
    places: dict[int, int] = {}
    lines = array("q")
    for number, row in placed:
        of_kind = (BAILIAN_BLOCK if "chat_id" in row else MOONCAKE_BLOCK) if "hash_ids" in row else 0
        if usual not in (None, of_kind):
            raise row.bad("chat_id" if "chat_id" in row else "hash_ids", "all rows of a trace are of one kind")
        usual = of_kind
        rows.tokens.append(row.values.input_length)
        rows.output.append(row.values.output_length)
        rows.arrival.append(_seconds(row, usual))
        lines.append(number)
        if usual:
            rows.blocks.extend(places.setdefault(one, len(places)) for one in row.values.hash_ids)
            rows.ends.append(len(rows.blocks))
    if usual:
        counts = [end - start for start, end in zip((0, *rows.ends), rows.ends, strict=False)]
        rows.block = block_size(rows.tokens, counts, usual)
        for row, (tokens, count) in enumerate(zip(rows.tokens, counts, strict=True)):
            if not agrees(tokens, count, rows.block):
                ids = list(places)
                mine = [ids[place] for place in rows.blocks[rows.ends[row] - count : rows.ends[row]]]
                raise BadValue(
                    what=f"{name}, line {lines[row]}: hash_ids is {shown(mine)}",
                    why=f"{count} blocks of {rows.block} tokens do not make a prompt of {tokens}; {rows.block} is the size that most rows agree on",
                    hint="correct the value",
                )
    return rows


def _seconds(row: Placed[Any], usual: int) -> float:
    if usual:
        return row.values.timestamp / (1000 if usual == MOONCAKE_BLOCK else 1)
    # seven digits of a second are one more than Python reads
    whole, dot, part = row.values.arrival.partition(".")
    try:
        return datetime.fromisoformat(f"{whole}{dot}{part[:6]}").timestamp()
    except ValueError:
        raise row.bad("TIMESTAMP", "it is a date and time such as 2023-11-16 18:17:03.97") from None


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
