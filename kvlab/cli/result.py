"""What `run`, `twin` and `check` print of a recording: a row a request, what broke, and the findings; or one JSON object and nothing else."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.expected import Judged, judge_case
from kvlab.cli.result_json import result, violations
from kvlab.findings import Findings, diagnose
from kvlab.recording import Recording
from kvlab.recording.caveats import notes
from kvlab.studies.request_rows import table
from kvlab.workloads import Workload

MOST_VIOLATIONS = 20
MOST_ROWS = 200
"""Rows of requests shown; of a longer run the first and the last ones."""


def print_result(args: argparse.Namespace, recording: Recording, workload: Workload | None = None, *, machine: int | None = None) -> Judged | None:
    """Diagnose a recording and print it.

    Args:
        args: The command line.
        recording: What was run.
        workload: The whole workload; what a case expects is compared with the run and returned.
        machine: All bytes of the machine, as `--machine` gives them.
    """
    findings = diagnose(recording, machine=machine)
    shown = result(recording, findings)
    judged = judge_case(args, workload, recording, shown) if workload is not None and workload.expected else None
    if args.json:
        arguments.print_json(shown | ({"expected": judged.to_dict()} if judged is not None else {}))
    else:
        print(_text(recording, findings) + (f"\n\n{judged}" if judged is not None else ""))
    return judged


def _text(recording: Recording, findings: Findings) -> str:
    """Return what a run did, for a terminal."""
    manifest = recording.manifest
    head = [f"{manifest.workload} on {manifest.model} ({manifest.source})", *(f"{name}: {words}" for name, words in notes(manifest))]
    parts = ["\n".join(head), table(recording, MOST_ROWS)]
    broken = violations(recording)
    if broken:
        lines = [f"  request {row['request']}: {row['rule']}: {row['detail']}" for row in broken[:MOST_VIOLATIONS]]
        rest = [f"  and {len(broken) - MOST_VIOLATIONS} more"] if len(broken) > MOST_VIOLATIONS else []
        parts.append("\n".join([f"{len(broken)} violations", *lines, *rest]))
    answers = [f"request {row['request']}: {row['text']}" for row in recording.requests.iter_rows(named=True) if row["text"]]
    return "\n\n".join([*parts, *(["\n".join(answers)] if answers else []), str(findings)])
