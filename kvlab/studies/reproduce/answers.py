"""C1 (#17599): another request's answer, counted on the twin as the calls that restore positions which another request wrote."""

from __future__ import annotations

from kvlab.events import WrongPositions
from kvlab.lab import Twin
from kvlab.lab.shapes import read_shape
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.shape import Shape
from kvlab.studies.faults import contamination
from kvlab.studies.reproduce.models import hybrid27, hybrid35
from kvlab.studies.reproduce.published import Published
from kvlab.studies.reproduce.result import Aside, Made
from kvlab.workloads import Request, Workload
from kvlab.workloads.contamination import ROUNDS, TASKS, contamination_requests

CONTEXTS = (8192, 32768, 65536)
CALLS_UNLOADED = 96
SHORT = 3000
"""Characters below which a note is a short one."""


def make(published: Published) -> Made:
    """Count the calls of each arm."""
    del published
    grid = Policy().capture_grid
    by_context = {context: _wrong(contamination.on_twin(grid=grid, context=context)) for context in CONTEXTS}
    rounds = CALLS_UNLOADED // TASKS
    figures: dict[str, float | None] = {f"wrong_{context}": len(calls) for context, calls in by_context.items()}
    figures |= {
        "wrong_65536_round_1": sum(call <= TASKS for call in by_context[65536]),
        "unloaded": len(_wrong(_notes(hybrid27(), contamination.FAULT_VERSION, rounds, unload=True))),
        "fixed": len(_wrong(contamination.on_twin(contamination.CURED_VERSION, grid=grid)))
        + len(_wrong(_notes(hybrid27(), contamination.CURED_VERSION, ROUNDS))),
        "equal_lengths": len(_wrong(contamination.on_twin(lengths="equal", grid=grid))),
        "gemma_12b": len(_wrong(_notes(read_shape("gemma3-12b"), contamination.FAULT_VERSION, ROUNDS))),
    }
    return Made(figures, (_tried(),))


def _tried() -> Aside:
    fine = contamination.GRID
    rows: list[tuple[object, ...]] = []
    for grid in (Policy().capture_grid, fine):
        kinds = (len(_wrong(contamination.on_twin(lengths=kind, grid=grid))) for kind in ("mixed", "equal"))
        rows.append((f"tasks to complete, full attention, captures every {grid:,} tokens", *kinds))
    for name, shape in (("27B", hybrid27()), ("35B", hybrid35())):
        arms = (len(_wrong(_notes(shape, contamination.FAULT_VERSION, ROUNDS, most=most))) for most in (None, SHORT))
        rows.append((f"notes, {name} shape", *arms))
    columns = ("under v0.32.5", "long and short, of 48", "equal or short ones alone")
    return Aside("calls with wrong positions, of other prompts and models", columns, tuple(rows))


def _notes(shape: Shape, version: str, rounds: int, *, unload: bool = False, most: int | None = None) -> Recording:
    """Ask the same notes in every round, each of fewer than `most` characters, with an unload after each or without."""
    once = [one for one in contamination_requests(rounds=1) if most is None or len(one.messages[0][1]) < most]
    asked = once * rounds
    if unload:
        asked = [one for request in asked for one in (request, Request(label="unload", action="unload", max_new=0))]
    return Twin(shape).run(Workload("notes", tuple(asked)), policy=Policy.ollama(version), progress=False, check=True)


def _wrong(recording: Recording) -> list[int]:
    """Return the requests that restored positions which another request wrote."""
    return recording.events.filter(kind=WrongPositions.kind)["request"].unique().sort().to_list()
