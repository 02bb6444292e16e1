"""Running a published experiment on the twin, and reading sizes off it."""

from __future__ import annotations

from typing import Any

from kvlab.lab import Twin
from kvlab.lab.shapes import read_shape
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.recording.reported import reported_bytes
from kvlab.shape import Shape
from kvlab.workloads import Workload, named


def run(shape: Shape, workload: Workload, policy: Policy) -> Recording:
    """Run `workload` on the twin of `shape` under `policy`, without a bar."""
    return Twin(shape).run(workload, policy=policy, progress=False)


def made(name: str, **choices: Any) -> Recording:
    """Run a named experiment (`A1`, `B:0.30.7`) as `kvlab twin` does: on its own shape, under its own policy, with single `choices` on top."""
    workload = named(name)
    return run(read_shape(workload.shape_name), workload, Policy().amended(workload.policy).replace(**choices))


def sizes(recording: Recording) -> list[int]:
    """Return what a server would report after each request, in bytes, the first request first."""
    told = reported_bytes(recording)
    return [told[request] for request in sorted(told)]


def held(recording: Recording) -> list[int]:
    """Return what all owners retained after each request, in bytes: what is pinned is on it."""
    return recording.requests["retained"].to_list()
