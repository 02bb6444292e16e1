"""The checklist names exactly what a recording cannot answer, and decides by what it can."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
from pathlib import Path

import pytest

import kvlab
from kvlab.cli.main import parser
from kvlab.errors import BadValue
from kvlab.events import Event, Listed, Observed, ProcessSeen, RequestBegan, RequestClosed, RunnerChanged
from kvlab.findings.checklist import ITEMS, checklist
from kvlab.importers import import_file
from kvlab.probe import Probe
from kvlab.recording import Recording
from kvlab.workloads import resolve
from tests.findings.outside.seen import recording_of, sizes
from tests.probe.recorded_server import GIB, World

FIXTURES = Path(__file__).parents[2] / "fixtures"
ALL = [item.name for item in ITEMS]
BY_HAND = {item.name for item in ITEMS if item.by_hand}
SERIES = {"by_requests", "by_context", "by_concurrency"}
UNLOADED = {"unload_answered", "old_process_gone", "loaded_again"}


def on_a_machine_of(ram: int, recording: Recording) -> Recording:
    return Recording(dataclasses.replace(recording.manifest, machine={"ram_bytes": ram}), recording.events)


def missing_but(*known: str) -> list[str]:
    return [name for name in ALL if name not in known]


def test_a_pasted_list_knows_only_keep_alive() -> None:
    found = checklist(import_file(FIXTURES / "logs" / "real_17783_ollama_ps.txt").recording)
    assert list(found.missing) == missing_but("keep_alive")
    assert "Forever" in found.known["keep_alive"]
    assert found.decision == "undecided"


def test_a_log_knows_only_itself() -> None:
    found = checklist(import_file(FIXTURES / "samples" / "mlxrunner.log").recording)
    assert list(found.missing) == missing_but("logs_kept")


def test_a_probe_that_unloads_leaves_the_series_the_log_and_the_notes(probe: Probe) -> None:
    found = checklist(probe.run("E2", progress=False))
    assert set(found.missing) == SERIES - {"by_requests"} | BY_HAND | {"logs_kept"}
    assert found.known["unload_answered"].startswith("accepted")
    assert found.known["old_process_gone"].startswith("yes")


def test_a_probe_that_only_looks_knows_the_moment(probe: Probe) -> None:
    found = checklist(probe.watch(4.0))
    assert set(found.missing) == SERIES | UNLOADED | BY_HAND | {"logs_kept"}


def test_series_and_notes_fill_the_rest_and_the_server_may_stay(probe: Probe) -> None:
    runs = [on_a_machine_of(64 * GIB, probe.run(name, progress=False)) for name in ("E1:requests", "E1:context", "E1:concurrency", "E2")]
    log = import_file(FIXTURES / "samples" / "mlxrunner.log").recording
    notes = {"drain_and_lock": "the queue locks", "thresholds": "1 %, 30 s, daily"}
    found = checklist(runs[0], notes=notes, also=[*runs[1:], log])
    assert found.missing == ()
    assert set(found.noted) == BY_HAND
    assert (found.decision, "bounded" in found.reason) == ("stay", True)


def test_a_process_left_behind_decides_to_move(probe: Probe, world: World) -> None:
    world.on_unload = lambda: setattr(world, "listed", False)
    assert checklist(probe.run("E2", progress=False)).decision == "move"


def test_what_does_not_fit_decides_to_split() -> None:
    recording = recording_of(
        [
            *((0.0, n, e) for n in (1, 2, 3) for e in (RequestBegan(), Observed(gauge="size", observed=18 * GIB, step=1), RequestClosed())),
            (0.0, 3, Observed(gauge="available", observed=2 * GIB, step=1)),
        ]
    )
    assert checklist(recording).decision == "split"


def test_growth_without_bound_decides_to_move() -> None:
    shape = kvlab.twin("qwen3.8-27b").shape
    growing = sizes(((n, 18 * GIB + n * GIB) for n in range(80)), policy=kvlab.Policy(), shape=shape.to_dict())
    assert checklist(growing).decision == "move"


def of_prompts(*tokens: int) -> Recording:
    """Return requests by the tokens of their prompts, 0 for those that were not recorded, each with a figure after it."""
    rows = [(number, [RequestBegan(tokens=count), Observed(gauge="size", observed=GIB), RequestClosed()]) for number, count in enumerate(tokens, 1)]
    return recording_of((0.0, number, event) for number, events in rows for event in events)


@pytest.mark.parametrize(
    ("tokens", "known"),
    [
        ((40, 42, 41, 40, 44), "5 requests"),
        (tuple(range(40, 3445, 70)), ""),
        ((0,) * 10, ""),
        ((40, 41, 42, 43, 44, 45, 9000, 9001, 9002), "6 requests"),
    ],
)
def test_all_else_is_the_same_only_where_prompts_are_alike(tokens: tuple[int, ...], known: str) -> None:
    words = checklist(of_prompts(*tokens)).known.get("by_requests", "")
    assert words.startswith(known) if known else not words


def test_a_probe_on_linux_tells_arrays_heap_and_mapped_files_apart() -> None:
    gauges = {"footprint": 54 * 2**20, "anonymous": 50 * 2**20, "mapped": 2**20}
    seen: list[Event] = [
        Listed(count=1, model="m"),
        Observed(gauge="size", observed=17 * GIB, label="m"),
        ProcessSeen(pid=42, ppid=7),
        *(Observed(gauge=gauge, observed=count, label="runner", pid=42) for gauge, count in gauges.items()),
    ]
    known = checklist(recording_of((0.0, 0, event) for event in seen)).known["parts_separated"]
    assert "17.00 GiB" in known
    assert "50.00 MiB" in known
    assert "weights and KV together" in known


def listing(model: str) -> Recording:
    return recording_of([(0.0, 0, Listed(count=1, model=model))], source="probe", model=model)


def log_of(model: str) -> Recording:
    return recording_of([(0.0, 0, RunnerChanged(state="ready", model=model))], source="ollama-log", model=model or "unknown")


@pytest.mark.parametrize("model", ["lab-27b-mlx", "lab-27b-mlx:latest", "registry.ollama.ai/library/lab-27b-mlx:latest", ""])
def test_the_log_of_the_same_model_is_the_servers(model: str) -> None:
    found = checklist(listing("lab-27b-mlx"), also=[log_of(model)])
    assert "logs_kept" in found.known
    assert found.not_taken == ()


def test_the_log_of_another_model_is_not_the_servers() -> None:
    found = checklist(listing("lab-27b-mlx"), also=[log_of("other:7b")])
    assert "logs_kept" in found.missing
    assert "other:7b" in found.not_taken[0]
    assert found.not_taken[0] in str(found)
    assert found.to_dict()["not_taken"] == list(found.not_taken)


def test_a_note_on_no_item_is_refused() -> None:
    with pytest.raises(BadValue, match="no item 'drain'"):
        checklist(sizes([(1, 1)]), notes={"drain": "x"})


def test_every_command_can_be_typed_and_its_workload_is_known() -> None:
    for item in ITEMS:
        for command in re.findall(r"kvlab (?:\"[^\"]*\"|[^;,()\"])+", item.fill):
            words = shlex.split(command)[1:]
            args = parser().parse_args(words)
            if getattr(args, "workload", None):
                assert len(resolve(args.workload)) > 0


def test_it_is_json_and_text(probe: Probe) -> None:
    found = checklist(probe.watch(0))
    data = json.loads(json.dumps(found.to_dict()))
    assert [row["item"] for row in data["items"]] == ALL
    assert [row["item"] for row in data["items"] if row["known"] is None] == data["missing"]
    text = str(found)
    for item, words in found:
        assert f"[{'x' if words else ' '}] {item.about}" in text
        assert words or item.fill in text
