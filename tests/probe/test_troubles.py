"""What goes wrong with a live server is a sign in the recording and a request's row, never a crash."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
import pytest

import kvlab
from kvlab.events import LIFE_SIGNS
from kvlab.probe import Probe
from kvlab.probe.connection import Trouble
from kvlab.probe.processes import Process
from kvlab.probe.rows import never_answered, request_rows, sample_rows, sign_rows
from tests.probe.recorded_server import GIB, MODEL, STALL, JumpingClock, World, answer

ASKED = kvlab.workloads.unrelated(3)


def signs(recording: kvlab.Recording) -> list[tuple[str, int | None]]:
    return [(row["state"], row["pid"]) for row in sign_rows(recording).iter_rows(named=True)]


def states(recording: kvlab.Recording) -> list[str]:
    return [state for state, _ in signs(recording)]


def test_the_runner_disappears_while_its_model_is_listed(probe: Probe, world: World, clock: JumpingClock) -> None:
    clock.after(3, lambda: setattr(world, "runner", None))
    recording = probe.watch(6, every=2)
    assert signs(recording) == [("answering", None), ("process_gone", 4242)]
    assert "still listed" in sign_rows(recording)["message"][-1]
    # a server that had a runner holds no model itself
    assert sample_rows(recording)["runner_pid"].to_list() == [4242, 4242, None, None]
    assert sample_rows(recording)["footprint"].to_list() == [19 * GIB, 19 * GIB, None, None]


def test_the_runner_is_replaced_during_a_request(probe: Probe, world: World) -> None:
    def crash() -> None:
        world.runner = Process(5001, 100, "ollama runner", 9.0)

    world.on_ask = crash
    recording = probe.run("unrelated:1", progress=False)
    assert ("process_gone", 4242) in signs(recording)
    assert ("replaced", 5001) in signs(recording)
    words = sign_rows(recording).filter(state="replaced")["message"][0]
    assert "4242" in words
    assert "5001" in words
    assert request_rows(recording)["runner_pid"].to_list() == [5001]
    assert any(words.startswith("replaced: ") for words in kvlab.diagnose(recording).warnings)


def test_a_runner_that_comes_back_later_is_a_new_one(probe: Probe, world: World, clock: JumpingClock) -> None:
    clock.after(3, lambda: setattr(world, "runner", None))
    clock.after(5, lambda: setattr(world, "runner", Process(5001, 100, "ollama runner", 9.0)))
    assert signs(probe.watch(8, every=2)) == [("answering", None), ("process_gone", 4242), ("replaced", 5001)]


def test_a_runner_that_goes_with_one_of_two_models_is_not_replaced(probe: Probe, world: World, clock: JumpingClock) -> None:
    other = {"name": "other:1b", "model": "other:1b", "size": GIB, "size_vram": GIB}
    world.answers["/api/ps"] = {"models": [*world.listing()["models"], other]}

    def unloaded() -> None:
        world.runner = None
        world.answers["/api/ps"] = {"models": [other]}

    clock.after(3, unloaded)
    clock.after(5, lambda: setattr(world, "runner", Process(5001, 100, "ollama runner", 9.0)))
    assert states(probe.watch(8, every=2)) == ["answering", "unlisted", "process_gone"]


def test_a_runner_whose_model_is_unlisted_later_is_not_replaced(probe: Probe, world: World, clock: JumpingClock) -> None:
    clock.after(3, lambda: setattr(world, "runner", None))
    clock.after(5, world.gone)
    clock.after(7, world.load)
    found = states(probe.watch(10, every=2))
    assert {"process_gone", "unlisted"} <= set(found)
    assert "replaced" not in found


def test_a_second_models_runner_replaces_nothing(probe: Probe, world: World, clock: JumpingClock) -> None:
    clock.after(3, world.gone)
    clock.after(5, world.load)
    assert "replaced" not in states(probe.watch(8, every=2))


def test_a_pid_that_is_used_again_is_another_process(probe: Probe, world: World, clock: JumpingClock) -> None:
    clock.after(1, lambda: setattr(world, "runner", Process(4242, 100, "ollama runner", 77.0)))
    assert ("process_gone", 4242) in signs(probe.watch(2, every=2))


def test_the_server_restarts(probe: Probe, world: World, clock: JumpingClock) -> None:
    def restart() -> None:
        world.server, world.listed, world.runner = Process(200, 1, "ollama", 5.0), False, None

    clock.after(3, restart)
    recording = probe.watch(6, every=2)
    assert signs(recording) == [("answering", None), ("unlisted", None), ("restarted", 200), ("process_gone", 4242)]
    assert "100" in sign_rows(recording).filter(state="restarted")["message"][0]


def test_the_server_goes_away_and_comes_back(probe: Probe, world: World, clock: JumpingClock) -> None:
    clock.after(3, lambda: world.answers.update({"/api/ps": (503, {"error": "busy"})}))
    clock.after(7, world.answers.clear)
    recording = probe.watch(10, every=2)
    assert states(recording) == ["answering", "failed", "answering"]
    assert sample_rows(recording)["listed"].to_list() == [1, 1, None, None, 1, 1]


def test_an_empty_list_while_the_process_lives_is_not_released(probe: Probe, world: World, clock: JumpingClock) -> None:
    clock.after(3, lambda: setattr(world, "listed", False))
    recording = probe.watch(20, every=2)
    assert signs(recording) == [("answering", None), ("unlisted", None), ("left_behind", 4242)]
    assert sign_rows(recording)["seconds"][-1] == 6.0
    assert sample_rows(recording)["footprint"].to_list()[-1] == 19 * GIB


def test_an_empty_list_and_no_runner_is_no_sign(probe: Probe, world: World) -> None:
    world.gone()
    assert states(probe.watch(20, every=2)) == ["answering"]


def test_a_child_that_held_no_model_is_not_left_behind(probe: Probe, world: World) -> None:
    world.listed, world.runner = False, Process(4242, 100, "python", 2.0)
    assert states(probe.watch(20, every=2)) == ["answering"]


def test_an_empty_list_and_a_runner_at_the_first_look_are_told(probe: Probe, world: World) -> None:
    world.listed = False
    recording = probe.look()
    assert any("4242" in words and "no model is listed" in words for words in warned(recording))
    found = kvlab.diagnose(recording)
    unload = found.about("what_will_unload_give_back")
    assert (unload.verdict, unload.numbers["is_forecast"], unload.numbers["alive_pids"]) == ("not_settled", "no", [4242])
    assert found.about("will_it_fit").verdict == "not_enough_data"


def test_a_runner_that_stays_with_an_empty_list_is_left_behind(probe: Probe, world: World) -> None:
    world.listed = False
    recording = probe.watch(20, every=2)
    assert [words for words in warned(recording) if "4242" in words] != []
    assert kvlab.diagnose(recording).about("what_will_unload_give_back").verdict == "process_left_behind"


def test_a_small_child_and_an_empty_list_are_no_matter(probe: Probe, world: World) -> None:
    world.listed, world.runner, world.footprint = False, Process(4242, 100, "python", 2.0), 2**20
    assert warned(probe.look()) == []


def warned(recording: kvlab.Recording) -> list[str]:
    return recording.events.filter(kind="warned")["message"].to_list() if "message" in recording.events.columns else []


def test_a_stall_before_the_first_token_is_told(probe: Probe, world: World, clock: JumpingClock) -> None:
    world.on_ask = lambda: clock.wait(10)
    recording = probe.run("unrelated:1", progress=False)
    told = sign_rows(recording).filter(state="stalled").row(0, named=True)
    # of 10 s the server accounts for 0.03 of loading, 0.5 of the prompt and 0.25 of the reply
    assert (told["request"], told["seconds"]) == (1, pytest.approx(9.22))
    slow = kvlab.diagnose(recording).about("why_slow")
    assert slow.verdict == "not_enough_data"
    assert slow.numbers["waited_s"] == pytest.approx(9.22)
    assert "request 1" in slow.summary


def test_an_answer_as_slow_as_the_server_says_is_no_stall(probe: Probe, world: World, clock: JumpingClock) -> None:
    def slow() -> Any:
        clock.wait(30)
        return answer(prompt_eval_duration=29_000_000_000, eval_duration=900_000_000)

    world.on_ask = slow
    assert "stalled" not in states(probe.run("unrelated:1", progress=False))


def test_requests_at_once_wait_for_each_other(probe: Probe, world: World, clock: JumpingClock) -> None:
    world.on_ask = lambda: clock.wait(10)
    recording = probe.run("E1:concurrency", progress=False)
    at_once = request_rows(recording).filter(pl.col("concurrency") > 1)["request"].to_list()
    assert at_once != []
    assert not sign_rows(recording).filter(state="stalled")["request"].is_in(at_once).any()


def test_a_stale_size_is_told_and_the_later_one_counts(probe: Probe, world: World, clock: JumpingClock) -> None:
    def late() -> None:
        clock.after(0.4, lambda: setattr(world, "size", 19 * GIB))

    world.on_ask = late
    recording = probe.run("unrelated:1", progress=False)
    assert request_rows(recording)["size"].to_list() == [19 * GIB]
    assert request_rows(recording)["signs"].to_list() == [["stale_size", "settled"]]
    assert str(18 * GIB) in sign_rows(recording).filter(state="stale_size")["message"][0]


def test_a_reading_that_never_rests_counts_as_settled_after_five_seconds(probe: Probe, world: World, clock: JumpingClock) -> None:
    def restless() -> None:
        world.footprint += 100 * 2**20
        clock.after(0.5, restless)

    clock.after(0.5, restless)
    recording = probe.run("unrelated:1", progress=False)
    assert sign_rows(recording).filter(state="settled")["seconds"].to_list() == [5.0]


def test_a_reading_of_other_processes_is_not_settled(probe: Probe, world: World, clock: JumpingClock) -> None:
    born = 10.0

    def replaced() -> None:
        nonlocal born
        born += 1
        world.runner = Process(6000, 100, "ollama runner", born)
        clock.after(0.5, replaced)

    clock.after(0.5, replaced)
    recording = probe.run("unrelated:1", progress=False)
    assert "not_settled" in states(recording)
    assert "settled" not in states(recording)


def test_the_list_stalls(probe_of: Callable[..., Probe], world: World) -> None:
    world.answers["/api/ps"] = STALL
    recording = probe_of(quick_s=0.2).look()
    assert states(recording) == ["answering", "stalled"]
    assert sign_rows(recording)["seconds"].to_list() == [0.0, 0.2]
    assert sample_rows(recording)["listed"].to_list() == [None]
    # what the server does not tell the system still does
    assert sample_rows(recording)["footprint"].to_list() == [19 * GIB]


def test_an_answer_that_drips_is_cut_off(probe_of: Callable[..., Probe]) -> None:
    """A server that stays alive byte by byte cannot hold the probe beyond its limit."""
    listener = socket.create_server(("127.0.0.1", 0))
    over = threading.Event()

    def drip() -> None:
        with listener, listener.accept()[0] as one:
            one.recv(1000)
            one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n{")
            while not over.wait(0.02):
                try:
                    one.sendall(b" ")
                except OSError:
                    return

    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    probe = probe_of(url=f"http://127.0.0.1:{listener.getsockname()[1]}", quick_s=0.3)
    with pytest.raises(Trouble) as met:
        probe.server.listed()
    over.set()
    thread.join()
    assert met.value.state == "stalled"


@pytest.mark.parametrize(
    "body",
    [b"<html>hello</html>", b"", b"[1, 2]", b'{"models": 3}', b'{"models": [3]}', b'{"models": [{}]}', b"\xff\xfe", b'{"mod', b"{}", b"[" * 100_000],
    ids=["html", "nothing", "list", "number", "numbers", "nameless", "no text", "cut", "no models", "deep"],
)
def test_a_list_that_is_none(probe: Probe, world: World, body: bytes) -> None:
    world.answers["/api/ps"] = body
    recording = probe.look()
    assert states(recording) == ["answering", "wrong_answer"]
    assert sample_rows(recording)["listed"].to_list() == [None]


@pytest.mark.parametrize("size", [b"-1", b"NaN", b"1e400", b'"18 GB"', b"[7]"])
def test_a_size_that_is_no_number_of_bytes_is_a_wrong_answer(probe: Probe, world: World, size: bytes) -> None:
    world.answers["/api/ps"] = b'{"models": [{"name": "a", "size": ' + size + b"}]}"
    recording = probe.look()
    assert states(recording) == ["answering", "wrong_answer"]
    assert sample_rows(recording)["size"].to_list() == [None]


def test_a_list_with_odd_words_keeps_its_figures(probe: Probe, world: World) -> None:
    world.answers["/api/ps"] = b'{"models": [{"name": "a", "context_length": "many"}, {"name": "b", "size": 7, "expires_at": 3}]}'
    rows = sample_rows(probe.look())
    assert rows["listed"].to_list() == [2]
    assert rows["size"].to_list() == [7]


def test_an_empty_list_is_null_in_some_versions(probe: Probe, world: World) -> None:
    world.answers["/api/ps"] = {"models": None}
    assert sample_rows(probe.look())["listed"].to_list() == [0]


@pytest.mark.parametrize(
    ("told", "state"),
    [
        ((500, {"error": "mlx runner failed: out of memory"}), "failed"),
        ((404, b"no"), "failed"),
        (b"not json\n", "wrong_answer"),
        ([{"message": {"content": "Par"}, "done": False}], "wrong_answer"),
        ([{"error": "the runner has died"}], "failed"),
        ([{"message": {"content": 3}}], "wrong_answer"),
        ([{"response": None, "done": True}], "wrong_answer"),
        (b'{"message": {"content": "' + b"x" * (2 << 20), "wrong_answer"),
        (b"", "wrong_answer"),
    ],
    ids=["500", "404", "no json", "cut", "error inside", "no text", "null", "long line", "nothing"],
)
def test_an_answer_that_is_none(probe: Probe, world: World, told: Any, state: str) -> None:
    world.on_ask = lambda: told if len([1 for _, asked in world.seen if asked]) == 2 else None
    recording = probe.run(ASKED, progress=False)
    rows = request_rows(recording)
    assert rows["stop"].to_list() == ["stop_token", "failed", "stop_token"]
    assert rows["signs"].to_list()[1][0] == state


def test_an_error_that_quotes_the_prompt_is_not_kept(probe: Probe, world: World) -> None:
    question = ASKED.requests[0].messages[0][1]
    world.on_ask = lambda: (400, {"error": f"cannot render: {question}"})
    recording = probe.run("unrelated:1", progress=False)
    assert "HTTP 400" in sign_rows(recording)["message"].to_list()
    assert "capital of France" not in str(recording.events.to_dicts())


def test_three_failures_in_a_row_end_a_run(probe: Probe, world: World) -> None:
    world.on_ask = lambda: (500, {"error": "no"})
    recording = probe.run("unrelated:15", progress=False)
    assert recording.requests["stop"].to_list() == ["failed"] * 3
    assert any("3 requests in a row failed" in str(words) for words in recording.events["message"])


def test_nobody_takes_the_connection(probe_of: Callable[..., Probe]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    probe = probe_of(url=f"http://127.0.0.1:{port}", model=MODEL)
    recording = probe.watch(4, every=2)
    assert states(recording) == ["refused", "refused"]
    assert never_answered(recording)
    recording = probe.run("unrelated:15", progress=False)
    assert recording.requests["stop"].to_list() == ["failed"] * 3
    assert never_answered(recording)
    unnamed = probe_of(url=f"http://127.0.0.1:{port}").run("unrelated:15", progress=False)
    assert unnamed.requests.height == 0
    assert any("no request was sent" in str(words) for words in unnamed.events["message"])


def test_the_server_dies_during_a_run(probe: Probe, world: World) -> None:
    world.on_ask = lambda: b"" if len([1 for _, asked in world.seen if asked]) > 1 else None
    recording = probe.run("unrelated:2", progress=False)
    assert recording.requests["stop"].to_list() == ["stop_token", "failed"]


def test_every_sign_is_a_known_one(probe: Probe, world: World) -> None:
    world.on_ask = lambda: (500, {"error": "no"})
    assert set(states(probe.run("E2", progress=False))) <= set(LIFE_SIGNS)


def heap_grows(world: World) -> None:
    world.footprint += 90 * 2**20


def test_a_heap_that_grows_while_the_list_stays_is_found(probe: Probe, world: World) -> None:
    """Footprint from 8.25 to 13.74 GB while the list stays, whatever the context: process heap, not the cache."""
    world.on_ask = lambda: heap_grows(world)
    assert kvlab.diagnose(probe.run("E1:requests", progress=False)).about("budget_or_leak").verdict == "heap_growth"


def test_what_is_left_behind_is_found_without_an_unload_of_ours(probe: Probe, world: World, clock: JumpingClock) -> None:
    clock.after(3, lambda: setattr(world, "listed", False))
    found = kvlab.diagnose(probe.watch(20, every=2))
    assert found.about("what_will_unload_give_back").verdict == "process_left_behind"
    assert any(words.startswith("left_behind") for words in found.warnings)


Change = Callable[[World, JumpingClock], None]
WATCHED: dict[str, Change] = {
    "process_gone": lambda world, clock: clock.after(3, lambda: setattr(world, "runner", None)),
    "restarted": lambda world, clock: clock.after(3, lambda: setattr(world, "server", Process(200, 1, "ollama", 5.0))),
    "left_behind": lambda world, clock: clock.after(3, lambda: setattr(world, "listed", False)),
    "wrong_answer": lambda world, clock: clock.after(3, lambda: world.answers.update({"/api/ps": b"?"})),
    "failed": lambda world, clock: clock.after(3, lambda: world.answers.update({"/api/ps": (500, {"error": "no"})})),
    "stalled": lambda world, clock: clock.after(15, lambda: world.answers.update({"/api/ps": STALL})),
}


@pytest.mark.parametrize("state", WATCHED)
def test_each_trouble_of_a_watch_is_told_before_the_findings(probe_of: Callable[..., Probe], world: World, clock: JumpingClock, state: str) -> None:
    WATCHED[state](world, clock)
    recording = probe_of(quick_s=0.2).watch(16, every=2)
    found = kvlab.diagnose(recording)
    assert [words for words in found.warnings if words.startswith(f"{state}: ")] != []
    assert len(found) > 0
    assert str(found)


def test_a_stale_size_and_a_failed_request_are_told_before_the_findings(probe: Probe, world: World, clock: JumpingClock) -> None:
    answers: Iterator[object] = iter([None, (500, {"error": "no"}), None])

    def late() -> object:
        clock.after(0.4, lambda: setattr(world, "size", world.size + GIB))
        return next(answers)

    world.on_ask = late
    warnings = kvlab.diagnose(probe.run(ASKED, progress=False)).warnings
    assert "failed: the server answered with an error or broke off, at request 2" in warnings
    assert any(words.startswith("stale_size: ") and "3 times, first at request 1" in words for words in warnings)


def test_an_unload_that_works_is_no_trouble(probe: Probe) -> None:
    assert kvlab.diagnose(probe.run("E2", progress=False)).warnings == ()
