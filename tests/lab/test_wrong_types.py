"""Values of a type that cannot be used: an error with a hint, before anything runs or is written."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kvlab
from kvlab.errors import KvlabError
from kvlab.recording import Recording

NO_PATHS: list[Any] = [None, 5, b"x", [], {}, "\0", "x\0y"]
NO_NUMBERS: list[Any] = [1.5, None, "x", True, float("nan"), float("inf")]


@pytest.fixture(scope="module")
def recording() -> Recording:
    return kvlab.twin("smollm2").run("unrelated:2", progress=False)


def refused(call: Callable[[], object]) -> KvlabError:
    with pytest.raises(KvlabError) as caught:
        call()
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("path", NO_PATHS, ids=repr)
def test_no_path(path: Any, recording: Recording) -> None:
    for call in (kvlab.load, kvlab.diagnose, kvlab.facts, recording.save):
        refused(lambda call=call: call(path))
    if path is not None:
        refused(lambda: recording.pack(path))
        refused(lambda: kvlab.twin("smollm2").run("unrelated:1", out=path, progress=False))


@pytest.mark.parametrize("moments", ["begin", (), None, 5, ["begin"], {"begin": 1}, frozenset({"bad"})], ids=repr)
def test_moments_of_eviction(moments: Any) -> None:
    assert "evict_at" in refused(lambda: kvlab.Policy(evict_at=moments)).what


@pytest.mark.parametrize("name", ["prefill_chunk", "capture_grid", "budget_bytes", "store_entries"])
def test_numbers_beyond_what_a_recording_holds(name: str) -> None:
    fields: dict[str, Any] = {name: 10**20}
    assert name in refused(lambda: kvlab.Policy(**fields)).what


@pytest.mark.parametrize("name", [None, 5, b"smollm2", [], {}], ids=repr)
def test_no_name(name: Any) -> None:
    refused(lambda: kvlab.twin(name))
    refused(lambda: kvlab.open(name))


@pytest.mark.parametrize("count", NO_NUMBERS, ids=repr)
def test_no_number(count: Any, recording: Recording) -> None:
    for family in (kvlab.workloads.unrelated, kvlab.workloads.chat, recording.at, recording.call_site):
        refused(lambda family=family: family(count))
    refused(lambda: kvlab.Request(prompt="x", max_new=count))


@pytest.mark.parametrize(
    "fields",
    [
        {"prompt": None},
        {"prompt": 5},
        {"prompt": ["a"]},
        {"prompt": "x", "label": None},
        {"prompt": "x", "label": 5},
        {"prompt": "x", "max_new": 10**30},
        {"messages": "user"},
        {"messages": ("user", "Why?")},
        {"messages": (("user", 5),)},
        {"messages": ((1, "a"),)},
    ],
    ids=repr,
)
def test_no_request(fields: dict[str, Any]) -> None:
    refused(lambda: kvlab.Request(**fields))


def test_comparing_with_nothing(recording: Recording) -> None:
    pairs: list[tuple[Any, Any]] = [(recording, None), (None, recording), (recording, "x.kvrec")]
    for pair in pairs:
        refused(lambda pair=pair: kvlab.compare(*pair))


@pytest.mark.parametrize("text", ["\udcff", "a\0\udcff", "why \ud800?"], ids=ascii)
def test_half_a_surrogate_pair_does_no_harm(text: str, tmp_path: Path) -> None:
    twin = kvlab.twin("smollm2")
    requests = [kvlab.Request(prompt=text, label=text), kvlab.Request(messages=(("user", text),))]
    made = twin.run(requests, out=str(tmp_path / "run.kvrec"), store_text=True, progress=False)
    assert made.requests.height == 2
    assert len(list(twin.step(text))) > 3
    assert kvlab.load(tmp_path / "run.kvrec").requests.height == 2
