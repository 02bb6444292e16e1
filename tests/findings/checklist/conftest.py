"""A probe of a recorded server whose clock jumps."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kvlab.probe import Probe
from tests.probe.recorded_server import JumpingClock, World, serving


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def probe(world: World) -> Iterator[Probe]:
    with serving(world) as url:
        yield Probe(url, clock=JumpingClock(), processes=world, process_bytes=world.process_bytes, machine_bytes=world.machine_bytes)
