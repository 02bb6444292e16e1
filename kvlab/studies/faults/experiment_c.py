"""What `kvlab faults C` runs: C1 on the twin and on a real model, under the last release with the defect and a later one."""

from __future__ import annotations

from kvlab.studies.faults import contamination
from kvlab.studies.faults.arms import CURED, FAULT, Arm, Shown
from kvlab.studies.faults.catalogue import CATALOGUE

NAME = "C"
MODEL = "smollm2"
_VERSIONS = {FAULT: contamination.FAULT_VERSION, CURED: contamination.CURED_VERSION}
_LOOK = "16 tasks with a shared beginning, the same in 3 rounds: who gets whose answer"


def on_twin() -> Shown:
    """Run both arms on span counts: which requests restored positions that another one wrote."""
    arms = [Arm(name, made.policy, contamination.counts(made), made) for name, version in _VERSIONS.items() for made in (contamination.on_twin(version),)]
    return Shown(CATALOGUE["F-14"], "the twin", (arms[0], arms[1]), _LOOK, {})


def on_model() -> Shown:
    """Run both arms on a real model, which takes minutes: the same, and which answers hold another task's word or number."""
    from kvlab.lab.lab import open_lab

    lab = open_lab(MODEL)
    runs = {name: contamination.run(lab, version) for name, version in _VERSIONS.items()}
    arms = [Arm(name, made.policy, made.figures(), made.recording) for name, made in runs.items()]
    return Shown(CATALOGUE["F-14"], f"{MODEL}'s arrays", (arms[0], arms[1]), _LOOK, {})
