"""A recorded server, a clock that jumps, and a probe that looks at them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from kvlab.probe import Probe
from tests.probe.recorded_server import JumpingClock, World, serving


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def clock() -> JumpingClock:
    return JumpingClock()


@pytest.fixture
def url(world: World) -> Iterator[str]:
    with serving(world) as found:
        yield found


@pytest.fixture
def probe_of(world: World, clock: JumpingClock, url: str) -> Callable[..., Probe]:
    """Return what makes a probe of the recorded server, whose user does what he is asked to."""

    def stop(*_: object) -> str:
        (world.on_unload or world.gone)()
        return ""

    def prompt(words: str) -> None:
        if "please restart" in words:
            world.restart()

    def make(**choices: Any) -> Probe:
        given: dict[str, Any] = {"clock": clock, "processes": world, "process_bytes": world.process_bytes, "machine_bytes": world.machine_bytes}
        given |= {"stop": stop, "prompt": prompt} | choices
        return Probe(given.pop("url", url), **given)

    return make


@pytest.fixture
def probe(probe_of: Callable[..., Probe]) -> Probe:
    return probe_of()
