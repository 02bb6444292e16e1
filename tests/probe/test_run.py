"""A workload against a recorded server: a row a request, as experiment E1 needs it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kvlab
from kvlab.errors import BadValue, NotAvailable
from kvlab.probe import Probe
from kvlab.probe.rows import request_rows, sample_rows, sign_rows
from kvlab.workloads import Request, Workload
from tests.probe.recorded_server import GIB, MODEL, STALL, JumpingClock, World, answer

ASKED = kvlab.workloads.unrelated(3)


def states(recording: kvlab.Recording) -> list[str]:
    return sign_rows(recording)["state"].to_list()


def test_a_row_a_request(probe: Probe, world: World) -> None:
    world.grows, world.swaps = GIB, 3 * 2**20
    recording = probe.run(ASKED, progress=False)
    rows = request_rows(recording)
    assert recording.manifest.source == "probe"
    assert recording.manifest.model == MODEL
    assert recording.manifest.origin["server_version"] == "0.33.1"
    assert rows["request"].to_list() == [1, 2, 3]
    assert rows["size"].to_list() == [19 * GIB, 20 * GIB, 21 * GIB]
    assert rows["footprint"].to_list() == [20 * GIB, 21 * GIB, 22 * GIB]
    assert rows["swapped_out"].to_list() == [3 * 2**20] * 3
    assert rows["swapped_in"].to_list() == [0] * 3
    assert rows["runner_pid"].to_list() == [4242] * 3
    assert rows["context"].to_list() == [65536] * 3
    assert rows["concurrency"].to_list() == [1] * 3
    assert rows["tokens"].to_list() == [26] * 3
    assert rows["generated"].to_list() == [2] * 3
    assert rows["stop"].to_list() == ["stop_token"] * 3
    assert rows["prefill_s"].to_list() == [0.5] * 3
    assert rows["decode_s"].to_list() == [0.25] * 3
    assert rows["load_s"].to_list() == [0.03] * 3
    assert rows["listed"].to_list() == [1] * 3
    assert rows["signs"].to_list() == [["settled"]] * 3


def test_what_is_asked(probe: Probe, world: World) -> None:
    probe.run(ASKED, progress=False, context=4096, keep_alive="10m")
    path, body = next(item for item in world.seen if item[1])
    assert path == "/api/chat"
    assert body["model"] == MODEL
    assert body["messages"] == [{"role": "user", "content": ASKED.requests[0].messages[0][1]}]
    assert body["options"] == {"num_predict": 24, "temperature": 0.0, "num_ctx": 4096}
    assert body["keep_alive"] == "10m"
    assert body["stream"] is True


def test_nothing_is_set_that_was_not_asked_for(probe: Probe, world: World) -> None:
    probe.run(ASKED, progress=False)
    bodies = [body for _, body in world.seen if body]
    assert len(bodies) == 3
    assert all("keep_alive" not in body and "num_ctx" not in body["options"] for body in bodies)


@pytest.mark.parametrize(("given", "sent"), [("-1", -1), ("300", 300), ("5m", "5m")])
def test_keep_alive_as_the_server_reads_it(probe: Probe, world: World, given: str, sent: object) -> None:
    probe.run(kvlab.workloads.unrelated(1), progress=False, keep_alive=given)
    assert [body["keep_alive"] for _, body in world.seen if body] == [sent]


def test_prompts_and_answers_are_stored_only_when_asked(probe: Probe, tmp_path: Path) -> None:
    question = ASKED.requests[0].messages[0][1]
    for store in (False, True):
        out = tmp_path / f"{store}.kvrec"
        probe.run(ASKED, progress=False, out=str(out), store_text=store)
        again = kvlab.load(out)
        texts = "\n".join(again.events["text"].drop_nulls())
        assert again.manifest.stored_text == store
        assert (question in texts) == store
        assert ("Paris." in texts) == store
        assert question not in str(again.events.drop("text").to_dicts())


def test_it_is_read_back_and_diagnosed(probe: Probe, tmp_path: Path) -> None:
    out = tmp_path / "probe.kvrec"
    probe.run(ASKED, progress=False, out=str(out))
    again = kvlab.load(out)
    assert again.complete
    assert again.requests["tokens"].to_list() == [26] * 3
    assert request_rows(again)["size"].to_list() == [18 * GIB] * 3
    findings = kvlab.diagnose(again)
    assert len(findings) >= 4
    assert "(probe)" in str(again)


def test_a_conversation_brings_its_replies_back(probe: Probe, world: World) -> None:
    probe.run(kvlab.workloads.chat(2), progress=False)
    second = [body for _, body in world.seen if body][1]
    assert [message["role"] for message in second["messages"]] == ["user", "assistant", "user"]
    assert second["messages"][1]["content"] == "Paris."


def test_plain_prompts_go_out_as_they_are(probe: Probe, world: World) -> None:
    probe.run(Request(prompt="Once upon a time", label="story", max_new=3), progress=False)
    path, body = next(item for item in world.seen if item[1])
    assert (path, body["prompt"], body["raw"], body["options"]["num_predict"]) == ("/api/generate", "Once upon a time", True, 3)


def test_token_ids_become_words_that_share_what_the_ids_share(probe: Probe, world: World) -> None:
    asked = (
        Request(tokens=range(5000, 5040), label="a"),
        Request(tokens=(*range(5000, 5020), *range(9000, 9020)), label="b"),
        Request(tokens=range(70000, 70040)),
    )
    probe.run(Workload("ids", asked), progress=False)
    first, second, third = [body["prompt"].split() for _, body in world.seen if body]
    assert [len(words) for words in (first, second, third)] == [40] * 3
    assert first[:20] == second[:20]
    assert first[20:] != second[20:]
    assert first[:20] != third[:20]


def test_bound_in_requests(probe: Probe, world: World) -> None:
    recording = probe.run("unrelated:15", requests=2, progress=False)
    assert recording.requests.height == 2
    assert len([body for _, body in world.seen if body]) == 2
    assert any("after 2 of 15 requests" in str(words) for words in recording.events["message"].to_list())


def test_bound_in_seconds(probe: Probe, world: World, clock: JumpingClock) -> None:
    def slow() -> None:
        clock.time += 40

    world.on_ask = slow
    recording = probe.run("unrelated:15", seconds=100, progress=False)
    assert recording.requests.height == 3
    assert any("100 s are over" in str(words) for words in recording.events["message"].to_list())


def test_series_over_context_asks_for_it(probe: Probe, world: World) -> None:
    rows = request_rows(probe.run("series:context", progress=False))
    assert rows["context"].unique(maintain_order=True).to_list() == [8192, 32768, 65536]
    assert [body["options"]["num_ctx"] for _, body in world.seen if body] == rows["context"].to_list()


def test_series_over_concurrency_sends_at_once(probe: Probe, world: World) -> None:
    together: list[int] = []
    inside = 0

    def count() -> None:
        nonlocal inside
        with world.lock:
            inside += 1
            together.append(inside)
            everyone.set() if inside == 4 else None
        if at_once:
            everyone.wait(5)
        with world.lock:
            inside -= 1

    everyone = threading.Event()
    at_once = False
    world.on_ask = count
    asked = kvlab.workloads.resolve("series:concurrency")
    alone = Workload("alone", asked.requests[:16])
    probe.run(alone, progress=False)
    assert max(together) == 1
    at_once = True
    recording = probe.run(Workload("at once", asked.requests[16:]), progress=False)
    rows = request_rows(recording)
    assert max(together) == 4
    assert rows["concurrency"].to_list() == [4] * 16
    assert rows["runner_pid"].to_list() == [4242] * 16
    assert rows["size"].to_list() == [18 * GIB] * 16
    # a look before, and one after each turn of the four conversations
    assert len(sample_rows(recording)) == 5
    assert rows["swapped_out"].drop_nulls().to_list() == [0] * 4


def test_a_mark_of_another_task_is_told(probe: Probe, world: World) -> None:
    from kvlab.workloads.contamination import tasks

    marks = [f"{task.word},{task.nonce}" for task in tasks(count=2)]
    world.on_ask = lambda: answer(f"{marks[0]}\n{marks[0]}", done_reason="length")
    recording = probe.run("contamination:2x1", progress=False)
    observed = {(row["request"], row["gauge"]): row["number"] for row in recording.events.filter(kind="observed").iter_rows(named=True)}
    assert (observed[1, "own_mark"], observed[1, "foreign_marks"]) == (1, 0)
    assert (observed[2, "own_mark"], observed[2, "foreign_marks"]) == (0, 1)
    assert recording.requests["warnings"].to_list() == [[], ["the answer holds the mark of request 1"]]
    assert marks[0] not in str(recording.events.to_dicts())
    assert request_rows(recording)["stop"].to_list() == ["limit", "limit"]


def test_the_context_length_is_the_lists_when_none_was_asked(probe: Probe, world: World) -> None:
    world.context = 4096
    assert request_rows(probe.run("unrelated:1", progress=False))["context"].to_list() == [4096]


def test_read_only_asks_nothing(probe_of: Callable[..., Probe], world: World) -> None:
    probe = probe_of(read_only=True)
    with pytest.raises(NotAvailable, match="only reads"):
        probe.run("unrelated:2", progress=False)
    probe.watch(10, every=2)
    assert world.seen
    assert all(path in ("/api/version", "/api/ps") and not body for path, body in world.seen)


def test_which_model(probe_of: Callable[..., Probe], world: World) -> None:
    world.listed, world.runner = False, None
    assert request_rows(probe_of().run("unrelated:1", progress=False))["stop"].to_list() == ["stop_token"]
    world.gone()
    world.answers["/api/tags"] = {"models": [{"name": "a"}, {"name": "b"}]}
    with pytest.raises(BadValue, match="a, b"):
        probe_of().run("unrelated:1", progress=False)
    probe_of(model="b").run("unrelated:1", progress=False)
    assert world.seen[-1][0] == "/api/ps"
    assert [body["model"] for _, body in world.seen if body][-1] == "b"
    world.gone()
    world.answers["/api/tags"] = {"models": None}
    with pytest.raises(BadValue, match="no model"):
        probe_of().run("unrelated:1", progress=False)


def test_samples(probe: Probe, world: World, clock: JumpingClock) -> None:
    clock.after(3, lambda: setattr(world, "size", 20 * GIB))
    rows = sample_rows(probe.watch(6, every=2))
    assert rows["t"].to_list() == [0, 2, 4, 6]
    assert rows["size"].to_list() == [18 * GIB, 18 * GIB, 20 * GIB, 20 * GIB]
    assert rows["available"].to_list() == [8 * GIB] * 4
    assert sample_rows(probe.look()).height == 1


@pytest.mark.parametrize("choices", [{"requests": 0}, {"seconds": -1}, {"seconds": float("nan")}, {"unload_by": "prayer"}])
def test_bounds_that_are_none(probe: Probe, choices: dict[str, Any]) -> None:
    with pytest.raises(BadValue):
        probe.run("unrelated:1", progress=False, **choices)


def test_a_stalled_request_is_given_up(probe_of: Callable[..., Probe], world: World) -> None:
    world.on_ask = lambda: STALL if len([1 for _, asked in world.seen if asked]) == 2 else None
    recording = probe_of(silence_s=0.2).run(ASKED, progress=False)
    rows = request_rows(recording)
    assert rows["stop"].to_list() == ["stop_token", "failed", "stop_token"]
    assert rows["signs"].to_list()[1][0] == "stalled"
    assert rows["ttft_s"].to_list()[1] is None
    stalled = sign_rows(recording).filter(state="stalled")
    assert stalled["seconds"].to_list() == [0.2]
