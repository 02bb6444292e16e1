"""Which models are loaded: keep-alive, room for others, and what happens to a request whose model goes, by a clock that is moved by hand."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from kvlab.errors import NotAvailable
from kvlab.policy import Policy
from kvlab.serve.fit import KEPT_FREE, MachineBytes, machine_bytes, room
from kvlab.serve.keep_alive import FOREVER
from kvlab.serve.scheduler import Scheduler, UnknownModel
from kvlab.serve.settings import Settings
from kvlab.units import GIB
from tests.serve.fakes import FakeRunner, ManualClock

Play = Callable[[Scheduler, ManualClock], Awaitable[None]]


def played(play: Play, machine: Callable[[], MachineBytes] = machine_bytes, **given: Any) -> list[str]:
    """Play a scene with models a to e and return what their runners did."""
    FakeRunner.said.clear()

    async def run() -> None:
        clock = ManualClock()
        usual: dict[str, Any] = {"models": {name: name for name in "abcde"}}
        settings = Settings(**(usual | given))
        async with anyio.create_task_group() as tasks:
            scheduler = Scheduler(settings, tasks, clock, FakeRunner, machine)
            with anyio.fail_after(60):
                await play(scheduler, clock)
                await scheduler.close()
                await anyio.wait_all_tasks_blocked()
            assert scheduler.entries() == []
            tasks.cancel_scope.cancel()

    anyio.run(run)
    return list(FakeRunner.said)


def names(scheduler: Scheduler) -> list[str]:
    return [entry.name for entry in scheduler.entries()]


def test_a_model_goes_when_its_keep_alive_is_over_and_each_request_begins_it_anew() -> None:
    async def play(scheduler: Scheduler, clock: ManualClock) -> None:
        async with scheduler.using("a", 300, "me"):
            # in use it does not go, however long that takes
            await clock.advance(1000)
        await clock.advance(299)
        assert names(scheduler) == ["a"]
        async with scheduler.using("a", 10, "me"):
            pass
        await clock.advance(9)
        assert [scheduler.remaining(entry) for entry in scheduler.entries()] == [1]
        await clock.advance(1)
        assert names(scheduler) == []

    assert played(play) == ["start a", "gone a"]


@pytest.mark.parametrize(("keep_alive", "stays"), [(0.0, False), (FOREVER, True)])
def test_nothing_and_for_ever(keep_alive: float, *, stays: bool) -> None:
    async def play(scheduler: Scheduler, clock: ManualClock) -> None:
        async with scheduler.using("a", keep_alive, "me"):
            assert names(scheduler) == ["a"]
        await clock.advance(10**9)
        assert names(scheduler) == (["a"] if stays else [])

    played(play)


def test_the_idle_model_used_least_recently_makes_room() -> None:
    async def play(scheduler: Scheduler, clock: ManualClock) -> None:
        for name in "abca":
            await scheduler.load(name, 300)
            await clock.advance(1)
        await scheduler.load("d", 300)
        assert sorted(names(scheduler)) == ["a", "c", "d"]

    # `reap`: the new one starts when the old one is gone
    assert played(play, most_loaded=3)[:5] == ["start a", "start b", "start c", "gone b", "start d"]


def test_a_model_in_use_goes_after_its_request_and_who_wants_it_meanwhile_loads_it_again() -> None:
    async def play(scheduler: Scheduler, _: ManualClock) -> None:
        async with anyio.create_task_group() as tasks, scheduler.using("a", 300, "me"):
            tasks.start_soon(scheduler.load, "b", 300)
            await anyio.wait_all_tasks_blocked()
            tasks.start_soon(scheduler.load, "a", 300)
            await anyio.wait_all_tasks_blocked()
            assert FakeRunner.said == ["start a"]
        assert names(scheduler) == ["a"]

    assert played(play, most_loaded=1)[:5] == ["start a", "gone a", "start b", "gone b", "start a"]


def test_models_that_wait_for_room_do_not_wait_for_each_other() -> None:
    async def play(scheduler: Scheduler, _: ManualClock) -> None:
        async with anyio.create_task_group() as tasks:
            for name in "abcdeabcde":
                tasks.start_soon(scheduler.load, name, 300)

    assert sorted({word for word in played(play, most_loaded=1) if word.startswith("start")}) == [f"start {name}" for name in "abcde"]


def test_an_unload_is_accepted_at_once_and_done_when_the_model_is_idle() -> None:
    async def play(scheduler: Scheduler, _: ManualClock) -> None:
        scheduler.expire("a")
        async with scheduler.using("a", math.inf, "me"):
            scheduler.expire("a")
            await anyio.wait_all_tasks_blocked()
            assert FakeRunner.said == ["start a"]
        await anyio.wait_all_tasks_blocked()
        assert names(scheduler) == []

    assert played(play) == ["start a", "gone a"]


def test_a_runner_that_died_is_loaded_again_by_the_next_request() -> None:
    async def play(scheduler: Scheduler, _: ManualClock) -> None:
        async with scheduler.using("a", 300, "me") as held:
            assert isinstance(held.runner, FakeRunner)
            held.runner.die()
            await anyio.wait_all_tasks_blocked()
        await scheduler.load("a", 300)
        assert names(scheduler) == ["a"]

    assert played(play)[:3] == ["start a", "gone a", "start a"]


def test_a_load_that_fails_is_an_error_for_all_who_wait_and_no_entry_stays() -> None:
    FakeRunner.fails.add("e")

    async def play(scheduler: Scheduler, _: ManualClock) -> None:
        failed: list[str] = []

        async def one() -> None:
            with pytest.raises(NotAvailable):
                await scheduler.load("e", 300)
            failed.append("e")

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(one)
            tasks.start_soon(one)
        assert failed == ["e", "e"]
        await anyio.wait_all_tasks_blocked()
        FakeRunner.fails.clear()
        await scheduler.load("e", 300)
        assert names(scheduler) == ["e"]

    played(play)


def test_a_client_that_leaves_while_a_model_loads_does_not_end_the_load() -> None:
    async def play(scheduler: Scheduler, _: ManualClock) -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await scheduler.load("a", 300)
        await anyio.wait_all_tasks_blocked()
        assert names(scheduler) == ["a"]

    assert played(play)[0] == "start a"


def test_load_and_close_may_meet_at_any_moment() -> None:
    async def play(scheduler: Scheduler, _: ManualClock) -> None:
        async with anyio.create_task_group() as tasks:
            for turn in range(1000):
                tasks.start_soon(scheduler.load, "a", 300 if turn % 3 else 0)
                scheduler.expire("a")
                if turn % 7 == 0:
                    await anyio.lowlevel.checkpoint()

    said = played(play)
    # never two runners of one model at once
    assert said == ["start a", "gone a"] * (len(said) // 2)


def test_under_signal_the_next_load_does_not_wait_for_the_old_process() -> None:
    async def play(scheduler: Scheduler, _: ManualClock) -> None:
        await scheduler.load("a", 300)
        await scheduler.load("b", 300)

    assert played(play, most_loaded=1, policy=Policy(close="signal"))[:3] == ["start a", "start b", "gone a"]


def test_the_two_ways_to_fit_decide_as_they_did_upstream() -> None:
    # F-30: of 64 GiB own runners hold 20 and other programs 30; the new model takes 20
    machine = MachineBytes(working_set=64 * GIB, free=14 * GIB)
    assert room("working_set", machine, 20 * GIB) + KEPT_FREE == 44 * GIB
    assert room("system_bound", machine, 20 * GIB) + KEPT_FREE == 14 * GIB


@pytest.mark.parametrize(("fit", "evicts"), [("working_set", False), ("system_bound", True)])
def test_a_model_without_room_evicts_an_idle_one_and_the_first_loads_anyway(fit: str, *, evicts: bool) -> None:
    async def play(scheduler: Scheduler, _: ManualClock) -> None:
        await scheduler.load("a", 300)
        await scheduler.load("b", 300)
        assert sorted(names(scheduler)) == (["b"] if evicts else ["a", "b"])

    # another program holds all of the system's free bytes; these models' files have 2 MB each
    models = {"a": "tiny-hybrid", "b": "tiny-sliding"}
    said = played(play, models=models, policy=Policy().replace(fit=fit), machine=lambda: MachineBytes(64 * GIB, KEPT_FREE))
    assert said[:2] == (["start tiny-hybrid", "gone tiny-hybrid"] if evicts else ["start tiny-hybrid", "start tiny-sliding"])


def test_an_unknown_model() -> None:
    async def play(scheduler: Scheduler, _: ManualClock) -> None:
        with pytest.raises(UnknownModel, match="model 'x' not found"):
            await scheduler.load("x", 300)

    assert played(play) == []
