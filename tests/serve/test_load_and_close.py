"""Loads that race closes, with real processes: two runners are never there at once, and when a server has closed there is none."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import anyio
import psutil
import pytest
from anyio.lowlevel import checkpoint

from kvlab.errors import KvlabError
from kvlab.serve.messages import LoadModel, Ready, encode
from kvlab.serve.runner_process import RunnerProcess
from kvlab.serve.scheduler import Scheduler
from kvlab.serve.settings import Settings
from tests.house.tree import ROOT

READY = encode(Ready("quick", {}, {}, {}, 4096, 0.0, tools=False)).hex()

MOMENTS: tuple[Callable[[RunnerProcess], bool], ...] = (
    lambda runner: True,  # noqa: ARG005
    lambda runner: bool(runner.pid),
    lambda runner: runner.loaded.is_set(),
)
"""When the first runner is closed: before it has a process, when it has one, when it is loaded; some turns of the loop later."""


class Quick(RunnerProcess):
    """Starts `quick_runner`."""

    made: ClassVar[list[Quick]] = []

    def __init__(self, load: LoadModel, place: Path | None) -> None:
        super().__init__(load, place)
        self.made.append(self)


async def reached(moment: int) -> None:
    """Return at a moment of the first runner's life."""
    holds = MOMENTS[moment % len(MOMENTS)]
    # every turn of the loop is a moment
    while not (Quick.made and holds(Quick.made[0])):
        await checkpoint()
    for _ in range(moment // len(MOMENTS) % 12):
        await checkpoint()


async def load(scheduler: Scheduler, name: str) -> None:
    # a server that ends answers with an error
    with suppress(KvlabError):
        await scheduler.load(name, 300)


async def race(moment: int) -> None:
    """Load two models in turn, where one has room, unload one, and end the server at a moment."""
    Quick.made.clear()
    async with anyio.create_task_group() as tasks:
        scheduler = Scheduler(Settings(models={"a": "tiny-hybrid", "b": "tiny-sliding"}, most_loaded=1), tasks, start=Quick)
        async with anyio.create_task_group() as callers:
            for name in "aba":
                callers.start_soon(load, scheduler, name)
            await reached(moment)
            scheduler.expire("a")
            await scheduler.close()
            # not one that is on its way, and none that has ended and is not reaped
            assert psutil.Process().children() == []
        assert scheduler.entries() == []
        assert all(runner.ended.is_set() for runner in Quick.made if runner.pid)


@pytest.mark.parametrize("turns", [50, pytest.param(1000, marks=pytest.mark.full)])
def test_load_and_close_may_meet_at_any_moment(turns: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lock = tmp_path / "lock"
    lock.touch()
    monkeypatch.setattr(Quick, "program", ("-I", "-S", str(ROOT / "tests/serve/quick_runner.py"), str(lock), READY))

    async def run() -> None:
        for moment in range(turns):
            with anyio.fail_after(60):
                await race(moment)

    anyio.run(run)
    assert lock.read_text() == ""
