"""A run of the twin, written as a log that has nothing but what Ollama's own have, and read back: the same tables, in the columns that such a log carries.

Compared are requests (tokens, matched, cached, left, generated, cancelled, nodes; counted, peak and active within the print's two decimals), what was evicted,
captured and paged, and for every request's end the trie (each node's path of edges, user, active) and the bytes that each node's snapshots count,
within the print. Not carried: labels, texts, other stops, limiting layers, `evicted` as a reason, retained bytes, what lives within one request only, and a
lazy snapshot on a node that lacks another layer's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kvlab
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.units import binary, parse_bytes
from kvlab.workloads import Request, Workload, resolve
from tests.importers.after_requests import closes
from tests.importers.read import rows
from tests.importers.write_ollama_log import write_ollama_log

LAYERS = [["kv"], ["recurrent", "kv"], ["rotating", "kv", "recurrent"]]
CANCELS = Workload(
    name="cancels",
    requests=(
        Request(tokens=tuple(range(1, 60)), max_new=4, label="a"),
        Request(tokens=(*range(1, 40), *range(100, 180)), max_new=4, cancel_after=70, label="b"),
        Request(tokens=(*range(1, 40), *range(100, 180)), max_new=4, label="c"),
        Request(tokens=tuple(range(1, 30)), max_new=1, label="d"),
        Request(tokens=tuple(range(1, 29)), max_new=0, label="e"),
    ),
)


def _back(recording: Recording, folder: Path) -> Recording:
    return kvlab.read_ollama_log(str(write_ollama_log(recording, folder / "server.log")))


Path_ = tuple[tuple[int, int], ...]


def _trie(recording: Recording, seq: int) -> list[tuple[Path_, bool, bool]]:
    """Every node as the edges from the root down to it."""
    moment = recording.at(seq).nodes.to_dicts()
    by_node = {row["node"]: row for row in moment}

    def path(row: dict[str, Any]) -> Path_:
        edges = [(row["start"], row["end"])]
        while row["parent"] in by_node:
            row = by_node[row["parent"]]
            edges.append((row["start"], row["end"]))
        return tuple(reversed(edges))

    return sorted((path(row), row["user"], row["active"]) for row in moment)


def _snapshots(recording: Recording, seq: int) -> list[tuple[int, int, int]]:
    """By node's edge: the bytes that its snapshots count."""
    return sorted((row["start"], row["end"], row["counted"]) for row in recording.at(seq).nodes.to_dicts() if row["node"])


def _printed(count: int) -> int:
    """What a size is after it was printed with two decimals of its unit."""
    return parse_bytes(binary(count).replace(" ", ""))


@pytest.mark.parametrize("version", ["main", "0.33.0", "0.30.8"])
@pytest.mark.parametrize("layers", LAYERS, ids="+".join)
@pytest.mark.parametrize("work", ["chat:6", "branches:5", "unrelated:6", "cancels"])
def test_the_tables_come_back(tmp_path: Path, work: str, layers: list[str], version: str) -> None:
    policy = (Policy() if version == "main" else Policy.ollama(version)).replace(budget_bytes=150)
    ours = kvlab.twin(layers).run(CANCELS if work == "cancels" else resolve(work), policy, progress=False)
    back = _back(ours, tmp_path)
    names = ("request", "tokens", "matched", "cached", "left", "generated", "nodes")
    assert back.requests.select(names).rows() == ours.requests.select(names).rows()
    cancelled = [(stop if stop == "cancelled" else None,) for (stop,) in ours.requests.select("stop").rows()]
    assert back.requests.select("stop").rows() == cancelled
    for name in ("counted", "peak", "active"):
        assert back.requests.get_column(name).to_list() == [_printed(count) for count in ours.requests.get_column(name)]
    limited = ours.requests.with_columns(pl.col("reason").replace({"evicted": "reused_in_full"}))
    expected = [reason if matched else "nothing_shared" for reason, matched in limited.select("reason", "matched").rows()]
    refused = [any(message.startswith("failed to restore") for message in messages) for (messages,) in back.requests.select("warnings").rows()]
    assert [one for one, free in zip(back.requests["reason"], refused, strict=True) if not free] == [
        one for one, free in zip(expected, refused, strict=True) if not free
    ]
    for kind, columns in (("evicted", ("request", "start", "end", "state")), ("captured", ("request", "end")), ("paged_in", ("request", "start", "end"))):
        assert rows(back, kind, *columns) == rows(ours, kind, *columns)
    for mine, theirs in zip(closes(ours), closes(back), strict=True):
        assert _trie(back, theirs) == _trie(ours, mine)
        assert _snapshots(back, theirs) == [(start, end, _printed(counted)) for start, end, counted in _snapshots(ours, mine)]


def _lives(recording: Recording, table: pl.DataFrame, names: tuple[str, ...]) -> list[tuple[Any, ...]]:
    """Versions that outlive a request, with the requests at whose ends they first and last stand."""
    seqs = closes(recording)
    found: list[tuple[Any, ...]] = []
    for row in table.to_dicts():
        alive = [place for place, seq in enumerate(seqs) if row["born"] <= seq and (row["died"] is None or row["died"] > seq)]
        if alive:
            found.append((*(row[name] for name in names), alive[0], alive[-1]))
    return sorted(found)


@pytest.mark.parametrize("layers", LAYERS, ids="+".join)
@pytest.mark.parametrize("work", ["chat:6", "branches:5", "unrelated:6"])
def test_intervals_of_existence_come_back(tmp_path: Path, work: str, layers: list[str]) -> None:
    ours = kvlab.twin(layers).run(resolve(work), Policy(budget_bytes=150), progress=False)
    back = _back(ours, tmp_path)
    names = ("start", "end", "user", "request")
    assert _lives(back, back.nodes, names) == _lives(ours, ours.nodes, names)
