"""The text of `run`, `twin` and `check`: a row a request, what broke, and the findings."""

from __future__ import annotations

from kvlab.cli.result_json import violations
from kvlab.diagnose import Findings
from kvlab.recording import Recording
from kvlab.recording.caveats import notes
from kvlab.studies.request_rows import table

MOST_VIOLATIONS = 20
MOST_ROWS = 200
"""Rows of requests shown; of a longer run the first and the last ones."""


def result_text(recording: Recording, findings: Findings) -> str:
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
