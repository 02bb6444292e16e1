"""What `run`, `twin` and `check` print of a recording: its rows and findings as text, or one JSON object and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvlab.cli import arguments
from kvlab.recording import Recording
from kvlab.workloads import Workload

if TYPE_CHECKING:
    from kvlab.cli.expected_figures import Seen
    from kvlab.cli.expected_judged import Judged


def print_result(
    recording: Recording,
    *,
    as_json: bool,
    workload: Workload | None = None,
    control: Seen | None = None,
    judged: Judged | None = None,
    machine: int | None = None,
) -> Judged | None:
    """Diagnose a recording and print it; with a `workload` that expects something, judge and print that too.

    Args:
        recording: What was run.
        as_json: Print one JSON object and nothing else.
        workload: The case whose `expected` is held against it.
        control: The run under the case's control.
        judged: Printed instead of judging, when nothing can be judged.
        machine: All bytes of the machine, as `--machine` gives them.
    """
    from kvlab.cli.expected_judged import judge, seen_of
    from kvlab.cli.result_json import result
    from kvlab.cli.result_text import result_text
    from kvlab.diagnose import diagnose

    findings = diagnose(recording, machine=machine)
    told = result(recording, findings)
    if judged is None and workload is not None and workload.expected:
        judged = judge(workload.expected, seen_of(recording, told, workload), control)
    if judged is not None:
        told["expected"] = judged.to_dict()
    if as_json:
        arguments.print_json(told)
        return judged
    print(result_text(recording, findings))
    if judged is not None:
        print(f"\n{judged}")
    return judged
