"""A run of ours, written as an Ollama log at TRACE and read back: the same tables `requests`, `nodes` and `spans`, in all their columns.

Of `nodes` and `spans` the states after every request are compared (`after_requests`), because there a log has its dumps; their numbers are the same too.
"""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import kvlab
from kvlab.importers import import_file
from kvlab.importers.write_ollama_log import ollama_log_lines, write_ollama_log
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.workloads import Request, Workload, resolve
from tests.importers.after_requests import after_requests, closes

SHARED = tuple(range(1, 40))
CANCELS = Workload(
    name="cancels",
    requests=(
        Request(tokens=tuple(range(1, 60)), max_new=4, label="a"),
        Request(tokens=(*SHARED, *range(100, 180)), max_new=4, cancel_after=70, label='b "quoted" = 1'),
        Request(tokens=(*SHARED, *range(100, 180)), max_new=4, label="c"),
        Request(tokens=tuple(range(1, 30)), max_new=1, label="zwölf\nlines"),
        Request(tokens=tuple(range(1, 29)), max_new=0, label=""),
        Request(tokens=tuple(range(1, 60)), max_new=4, cancel_after=0, label="a"),
    ),
)
SHAPES: dict[str, str | list[str]] = {
    "hybrid": "tiny-hybrid",
    "sliding": "tiny-sliding",
    "kv": ["kv"],
    "all": ["rotating", "kv", "recurrent"],
}
POLICIES = {
    "main": Policy(),
    "0.33.0": Policy.ollama("0.33.0"),
    "0.32.7": Policy.ollama("0.32.7"),
    "0.30.8": Policy.ollama("0.30.8"),
    "0.30.7": Policy.ollama("0.30.7"),
    "kvlab": Policy.kvlab(),
    "eager": Policy(snapshots="eager"),
}
"""Between them: lazy and eager snapshots, views, growth in place, page outs at close and at the switch, both ways to protect."""


def compared(ours: Recording, folder: Path) -> Recording:
    """Write, read back, compare; return what was read."""
    imported = import_file(write_ollama_log(ours, folder / "server.log"))
    assert imported.summary.of("not_understood") == {}
    back = imported.recording
    assert_frame_equal(back.requests, ours.requests)
    for name in ("nodes", "spans"):
        told, held = getattr(back, name), getattr(ours, name)
        assert told.columns == held.columns
        assert after_requests(told, closes(back)) == after_requests(held, closes(ours)), name
    return back


@pytest.mark.parametrize("version", POLICIES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("work", ["chat:6", "branches:5", "unrelated:6", "cancels"])
def test_the_tables_come_back_whole(tmp_path: Path, work: str, shape: str, version: str) -> None:
    twin = kvlab.twin(SHAPES[shape])
    requests = CANCELS if work == "cancels" else resolve(work)
    free = twin.run(requests, POLICIES[version], progress=False)
    # so small that there are evictions, so large that something stays
    budget = max(1, max(free.requests["counted"].to_list()) // 2)
    compared(twin.run(requests, POLICIES[version].replace(budget_bytes=budget), progress=False), tmp_path)


def test_the_runs_above_split_merge_evict_and_cancel() -> None:
    kinds: set[str] = set()
    for work in ("chat:6", "branches:5", "cancels"):
        twin = kvlab.twin(["rotating", "kv", "recurrent"])
        run = twin.run(CANCELS if work == "cancels" else resolve(work), Policy(budget_bytes=60), progress=False)
        kinds |= set(run.events["kind"].to_list()) | set(run.requests["stop"].to_list()) | set(run.spans["state"].to_list())
    assert {"node_split", "node_merged", "evicted", "node_removed", "cancelled", "lazy", "owned"} <= kinds
    views = kvlab.twin(["recurrent"]).run(resolve("chat:6"), Policy.ollama("0.30.8"), progress=False)
    assert "view" in views.spans["state"].to_list()


@pytest.mark.parametrize("model", ["tiny-hybrid", "tiny-sliding"])
def test_a_real_run_comes_back_whole(tmp_path: Path, model: str) -> None:
    back = compared(kvlab.open(model).run(resolve("chat:3"), Policy(), progress=False), tmp_path)
    # what the twin would hold stands beside a real run, and comes back with it
    assert back.requests["predicted_counted"].null_count() == 0


def test_a_warning_comes_back_in_its_own_words(tmp_path: Path) -> None:
    run = kvlab.twin(["recurrent", "kv"]).run(CANCELS, Policy(), progress=False)
    words = pl.when(pl.col("kind") == "captured").then(pl.lit("warned")).otherwise("kind").alias("kind")
    message = pl.when(pl.col("kind") == "captured").then(pl.lit('said "x=1" in /here')).otherwise("message").alias("message")
    changed = Recording(run.manifest, run.events.with_columns(words, message))
    assert changed.requests["warnings"].list.len().sum() > 0
    compared(changed, tmp_path)


def test_answers_are_not_written(tmp_path: Path) -> None:
    run = kvlab.open("tiny-hybrid").run(Workload("said", (Request(prompt="Call me Ishmael.", max_new=8),)), Policy(), store_text=True, progress=False)
    (answer,) = run.requests["text"].to_list()
    text = write_ollama_log(run, tmp_path / "server.log").read_text(encoding="utf-8")
    assert answer
    assert "Ishmael" not in text
    assert_frame_equal(import_file(tmp_path / "server.log").recording.requests.drop("text"), run.requests.drop("text"))


def test_our_own_attributes_stand_after_those_of_the_format() -> None:
    """A reader that looks up the keys it knows sees the plain log: without our attributes, and our two records, each line is one of it."""
    run = kvlab.twin(["rotating", "kv", "recurrent"]).run(CANCELS, Policy(budget_bytes=60), progress=False)
    told = [re.sub(r' kvlab\.\w+=("([^"\\]|\\.)*"|\S+)', "", line) for line in ollama_log_lines(run) if 'msg="kvlab ' not in line]
    assert told == list(ollama_log_lines(run, plain=True))
    assert told != list(ollama_log_lines(run))


def test_two_runs_in_one_log_are_two_tries(tmp_path: Path) -> None:
    """Numbers of nodes and snapshots begin anew with the second run; in the recording of both none is used twice."""
    runs = [kvlab.twin(["recurrent", "kv"]).run(resolve(work), Policy(), progress=False) for work in ("chat:4", "branches:4")]
    stop = 'time=2026-09-20T14:00:00.000Z level=INFO source=client.go:1 msg="stopping mlx runner subprocess" pid=1'
    path = tmp_path / "server.log"
    path.write_text("\n".join([*ollama_log_lines(runs[0]), stop, *ollama_log_lines(runs[1])]) + "\n", encoding="utf-8")
    back = import_file(path).recording
    names = [name for name in back.nodes.columns if name not in ("node", "parent", "request", "born", "died")]
    at_end = back.at(closes(back)[-1]).nodes.select(names)
    assert sorted(at_end.rows()) == sorted(runs[1].at(closes(runs[1])[-1]).nodes.select(names).rows())
    first, second = (back.at(seq) for seq in (closes(back)[3], closes(back)[-1]))
    assert not set(first.nodes["node"]) & set(second.nodes["node"])
    assert not set(first.spans["snapshot"]) & set(second.spans["snapshot"])
