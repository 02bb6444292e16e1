"""What `kvlab faults C` runs: experiment C in full, on the twin and on a real model, under the last release with the defect and a later one."""

from __future__ import annotations

from kvlab.events import WrongPositions
from kvlab.recording import Recording
from kvlab.studies.faults import contamination
from kvlab.studies.faults.arms import CURED, FAULT, Arm, Figures, Shown
from kvlab.studies.faults.catalogue import CATALOGUE

NAME = "C"
MODEL = "smollm2"
_VERSIONS = {FAULT: contamination.FAULT_VERSION, CURED: contamination.CURED_VERSION}
_LOOK = "16 tasks with a shared beginning in 3 rounds: who gets whose answer"


def on_twin() -> Shown:
    """Run both arms on span counts: which requests restored bytes of another."""
    arms = [Arm(name, contamination.policy(version), _wrong(made), made) for name, version in _VERSIONS.items() for made in (contamination.on_twin(version),)]
    return Shown(CATALOGUE["F-14"], "the twin", (arms[0], arms[1]), _LOOK, {})


def on_model() -> Shown:
    """Run both arms on a real model, which takes minutes: which answers hold another task's word or nonce."""
    from kvlab.lab.lab import open_lab

    arms: list[Arm] = []
    for name, version in _VERSIONS.items():
        made = contamination.run(open_lab(MODEL), version)
        arms.append(Arm(name, made.policy, made.figures(), made.recording))
    return Shown(CATALOGUE["F-14"], f"{MODEL}'s arrays", (arms[0], arms[1]), _LOOK, {})


def _wrong(recording: Recording) -> Figures:
    requests = recording.events.filter(kind=WrongPositions.kind)["request"].unique().sort().to_list()
    return {"calls": recording.requests.height, "calls_with_wrong_positions": len(requests), "requests_with_wrong_positions": requests}
