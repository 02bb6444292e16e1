"""The control of a case: the same requests under the choices that cure what the case shows, each step checked, on a twin of its own."""

from __future__ import annotations

from kvlab.cli.expected import seen_of
from kvlab.cli.expected_figures import Seen
from kvlab.cli.policy_choice import chosen_policy
from kvlab.cli.twin_choice import open_twin
from kvlab.workloads import Workload
from kvlab.workloads.case_expected import control_choices


def control_of(workload: Workload, *, progress: bool) -> Seen | None:
    """Run a case under its control and return that run; None when it has none, or says it in words only.

    Raises:
        BadValue: the engine does not follow one of the control's choices.
    """
    from kvlab.cli.result_json import result
    from kvlab.diagnose import diagnose

    choices = control_choices(workload.expected)
    if choices is None:
        return None
    twin = open_twin(workload)
    policy = chosen_policy(twin.policy, {**workload.policy, **choices}, None, (), None)
    recording = twin.run(workload, policy, progress=progress, check=True)
    return seen_of(recording, result(recording, diagnose(recording)), workload)


def needs_check(workload: Workload) -> bool:
    """Whether only a checked run can be held against what a case expects: broken rules, wrong positions, a right answer."""
    expected = workload.expected
    wrong = any("wrong_positions" in one for one in expected.get("checkpoints", ()))
    return workload.question == "is_the_answer_right" or "violation" in expected or wrong
