"""Trigger: the requests that bring one defect out, and both arms of it. The arms differ in one choice of the policy and in nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from kvlab.lab import Source
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.shape import Shape
from kvlab.studies.faults.arms import CURED, FAULT, Arm, Figures, Shown
from kvlab.studies.faults.catalogue import CATALOGUE
from kvlab.studies.faults.figures import Read
from kvlab.workloads import Request, Workload

Together = Callable[[Recording, Recording, Shape], Figures]
"""What holds for both arms together: of the fault arm's recording, the cured arm's, and the model's shape."""


def _nothing(fault: Recording, cured: Recording, shape: Shape) -> Figures:
    del fault, cured, shape
    return {}


@dataclass(frozen=True, slots=True)
class Trigger:
    """How to bring one defect out.

    Attributes:
        fault: The entry's id.
        open: Opens the model that it runs on: a twin, or a lab.
        requests: The requests.
        base: The choices that both arms share, given the model's shape (budgets are in its bytes).
        read: Reads an arm's figures.
        look: What to look at, in a sentence.
        values: The field's values in the fault arm and in the cured one, where they are not the catalogue's.
        together: Figures of both arms together.
    """

    fault: str
    open: Callable[[], Source]
    requests: Sequence[Request]
    base: Callable[[Shape], Policy]
    read: Read
    look: str
    values: tuple[Any, Any] | None = None
    together: Together = field(default=_nothing)

    def policies(self, shape: Shape) -> tuple[Policy, Policy]:
        """Return the choices of the fault arm and of the cured one."""
        entry = CATALOGUE[self.fault]
        values = self.values or (entry.fault, entry.cure)
        base = self.base(shape)
        return base.replace(**{entry.field: values[0]}), base.replace(**{entry.field: values[1]})

    def run(self) -> Shown:
        """Run both arms, each from an empty cache; on the twin every rule is checked after every step."""
        source = self.open()
        on_twin = source.source == "twin"
        work = Workload(self.fault, tuple(self.requests))
        recordings = [source.run(work, policy, check=on_twin, progress=False) for policy in self.policies(source.shape)]
        arms = [
            Arm(name, policy, self.read(recording), recording)
            for name, policy, recording in zip((FAULT, CURED), self.policies(source.shape), recordings, strict=True)
        ]
        return Shown(
            CATALOGUE[self.fault],
            "the twin" if on_twin else f"{source.name}'s arrays",
            (arms[0], arms[1]),
            self.look,
            self.together(recordings[0], recordings[1], source.shape),
        )


def sent(tokens: Sequence[int], reply: Sequence[int] = (), cancel: int | None = None) -> Request:
    """Return a request with given tokens and a given reply, perhaps cancelled at a position of its prefill."""
    return Request(tokens=tuple(tokens), generated=tuple(reply), cancel_after=cancel, label="sent")


def fresh(place: int, count: int) -> range:
    """Return `count` tokens that no other `place` has, all below 256 while places and counts stay small."""
    return range(place * count + 1, place * count + count + 1)
