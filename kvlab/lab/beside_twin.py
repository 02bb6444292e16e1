"""A real run and the twin of it: the same tokens and the same replies on span counts, every restored position checked.

Real arrays do not say who wrote them; the twin does. So each wrong position of a real run gets an owner.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvlab.events import Event, RequestClosed
from kvlab.lab.twin import Twin
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.workloads import Request, Workload

if TYPE_CHECKING:
    from kvlab.lab.lab import Lab


def run_beside_twin(lab: Lab, workload: Workload, policy: Policy) -> tuple[Recording, Recording]:
    """Run a workload on the lab, storing its texts, then what was asked and replied on the checked twin; return both recordings."""
    told: list[Request] = []

    def each(event: Event) -> None:
        if isinstance(event, RequestClosed):
            prompt, reply = lab.last
            told.append(Request(tokens=tuple(prompt), generated=tuple(reply), label=workload.requests[len(told)].label))

    real = lab.run(workload, policy, store_text=True, progress=False, each=each)
    return real, Twin(lab.shape).run(Workload(workload.name, tuple(told)), policy, check=True, progress=False)
