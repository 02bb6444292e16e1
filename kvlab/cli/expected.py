"""What a command does for a case that expects something: whether the case may be judged, and the run under its control."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kvlab.cli.policy_choice import chosen_policy
from kvlab.cli.twin_choice import open_twin
from kvlab.workloads import Workload
from kvlab.workloads.case_expected import control_choices

if TYPE_CHECKING:
    from kvlab.cli.expected_figures import Seen
    from kvlab.cli.expected_judged import Judged

_CHANGES = {"shape": "--shape", "layers": "--layers", "scale": "--scale", "policy": "--policy", "choices": "--set", "budget": "--budget"}


def not_as_it_stands(workload: Workload, args: argparse.Namespace) -> Judged | None:
    """Return that nothing is judged when the command line changes a case's model or rules: its figures are those of the file; None when it changes nothing."""
    from kvlab.cli.expected_judged import nothing_judged

    changed = [flag for name, flag in _CHANGES.items() if getattr(args, name, None)]
    if not changed or not workload.expected:
        return None
    return nothing_judged(f"{' and '.join(changed)} changes the case; its figures are those of the file as it stands")


def control_of(workload: Workload, *, progress: bool) -> Seen | None:
    """Run a case under the choices that cure what it shows, each step checked, on a twin of its own; None when it has none, or says them in words only.

    Raises:
        BadValue: the engine does not follow one of the control's choices.
    """
    from kvlab.cli.expected_judged import seen_of
    from kvlab.cli.result_json import result
    from kvlab.diagnose import diagnose

    choices = control_choices(workload.expected)
    if choices is None:
        return None
    twin = open_twin(workload)
    policy = chosen_policy(twin.policy, {**workload.policy, **choices}, None, (), None)
    recording = twin.run(workload, policy, progress=progress, check=True)
    return seen_of(recording, result(recording, diagnose(recording)), workload)
