"""A long run on the twin: one that cannot fit is refused before it starts; Ctrl-C leaves what was counted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import kvlab
from kvlab.errors import BadValue
from kvlab.lab.fitting import require_room_for_chats
from kvlab.lab.twin import Twin
from kvlab.workloads import chat
from tests.cli.conftest import Kvlab


@pytest.fixture
def no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def ran(*_: object, **__: object) -> None:
        pytest.fail("something was run")

    monkeypatch.setattr(Twin, "run", ran)


@pytest.mark.usefixtures("no_run")
@pytest.mark.parametrize("shape", ["smollm2", "qwen3.8-27b"])
def test_a_chat_that_no_context_holds_is_refused_before_it_starts(kvlab_says: Kvlab, shape: str) -> None:
    said = kvlab_says("twin", "chat:30000", "--shape", shape)
    assert said.code == 2
    assert "nothing was run" in said.err
    assert re.search(r"turn [\d,]+ of chat:30000 has a prompt of at least [\d,]+ tokens", said.err)


@pytest.mark.usefixtures("no_run")
def test_a_chat_without_end_is_refused_before_its_requests_are_made(kvlab_says: Kvlab) -> None:
    said = kvlab_says("twin", "chat:1000000", "--shape", "qwen3.8-27b")
    assert said.code == 2
    assert "at most 50,000 turns" in said.err


def test_a_run_of_many_requests_says_how_long_it_takes(kvlab_says: Kvlab, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Twin.run

    def few(self: Twin, workload: Any, *rest: Any, **options: Any) -> Any:
        return run(self, kvlab.workloads.unrelated(min(len(workload), 3)), *rest, **options)

    monkeypatch.setattr(Twin, "run", few)
    said = kvlab_says("twin", "unrelated:30000")
    assert said.code == 0
    assert re.search(r"30,000 requests take at least [\d,.]+ (minutes?|hours) on this machine, .* [\d,]+ events", said.err)
    assert kvlab_says("twin", "unrelated:20").err == ""


def test_a_million_requests_are_not_made_before_the_first_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    check = kvlab.Request.__post_init__

    def counted(self: kvlab.Request) -> None:
        made.append(1)
        check(self)

    monkeypatch.setattr(kvlab.Request, "__post_init__", counted)
    require_room_for_chats(kvlab.twin("smollm2"), kvlab.workloads.unrelated(1_000_000))
    assert len(made) < 10


def test_what_may_fit_is_not_refused() -> None:
    twin = kvlab.twin("smollm2")
    fits = next(turns for turns in range(1, 1000) if sum(len(twin.encode(one)) for one in chat(turns + 1).requests) > twin.shape.context)
    require_room_for_chats(twin, chat(fits))
    with pytest.raises(BadValue, match=f"turn {fits + 1} of "):
        require_room_for_chats(twin, chat(fits + 1))
    # of requests that share no conversation each one has the context to itself
    require_room_for_chats(twin, kvlab.workloads.unrelated(2000))
    require_room_for_chats(kvlab.twin(["kv"]), chat(3000))


@pytest.fixture
def interrupted_at_5(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C comes while the fifth request runs."""
    step = Twin._stepped

    def stepped(self: Twin, runner: Any, request: Any, predict: Any) -> Any:
        for event in step(self, runner, request, predict):
            yield event
            if event.kind == "matched" and event.request == 5 and event.source != "twin":
                raise KeyboardInterrupt

    monkeypatch.setattr(Twin, "_stepped", stepped)


@pytest.mark.usefixtures("interrupted_at_5")
@pytest.mark.parametrize("keep", [False, True])
def test_ctrl_c_leaves_what_was_counted(kvlab_says: Kvlab, tmp_path: Path, *, keep: bool) -> None:
    out = ["--out", str(tmp_path / "t.kvrec")] if keep else []
    said = kvlab_says("twin", "unrelated:60", *out)
    assert said.code == 130
    rows = [line.split()[0] for line in said.out.splitlines() if re.match(r"\s+\d+\s", line)]
    assert rows[:4] == ["1", "2", "3", "4"]
    assert "budget_or_leak" in said.out
    assert "this recording was cut short; it has " in said.out
    assert ("nothing was kept" in said.err) == (not keep)
    if keep:
        assert not kvlab.load(tmp_path / "t.kvrec").complete


@pytest.mark.usefixtures("interrupted_at_5")
def test_ctrl_c_leaves_json_too(kvlab_says: Kvlab) -> None:
    said = kvlab_says("twin", "unrelated:60", "--json")
    assert said.code == 130
    assert [row["request"] for row in json.loads(said.out)["requests"]][:4] == [1, 2, 3, 4]


def test_an_earlier_recording_is_not_taken_for_an_interrupted_run(kvlab_says: Kvlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "t.kvrec"
    assert kvlab_says("twin", "unrelated:3", "--out", out).code == 0

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Twin, "run", interrupt)
    said = kvlab_says("twin", "unrelated:60", "--out", out)
    assert (said.code, said.out) == (130, "")
    assert kvlab.load(out).requests.height == 3


def test_a_workload_of_ours_with_a_chat_goes_on(kvlab_says: Kvlab) -> None:
    assert kvlab_says("twin", "chat:5").code == 0
