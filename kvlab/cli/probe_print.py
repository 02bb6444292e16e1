"""What `kvlab probe` prints of a recording: rows, signs of life and findings as text, or one JSON object and nothing else. JSON keys are stable."""

from __future__ import annotations

from typing import Any

from kvlab.cli import arguments
from kvlab.diagnose import Findings, diagnose
from kvlab.probe.rows import request_rows, sample_rows, sign_rows
from kvlab.recording import Recording
from kvlab.views.outside import BYTES, outside_text


def print_probe(recording: Recording, *, as_json: bool) -> None:
    """Print a probe's recording."""
    asked = recording.requests.height > 0
    findings = diagnose(recording) if asked else Findings((), recording.warnings)
    if as_json:
        arguments.print_json(probe_json(recording, findings))
    else:
        print("\n\n".join(part for part in (outside_text(recording), findings.text()) if part))


def probe_json(recording: Recording, findings: Findings) -> dict[str, Any]:
    """Return a probe's recording as JSON holds it. Bytes are whole bytes, `_s` are seconds."""
    made = recording.manifest
    return {
        "workload": made.workload,
        "model": made.model,
        "server": {"version": made.origin.get("server_version", ""), "where": made.origin.get("server", ""), "port": made.origin.get("port")},
        "requests": [_named(row) for row in request_rows(recording).iter_rows(named=True)],
        "samples": [_named(row) for row in sample_rows(recording).iter_rows(named=True)],
        "signs": [{name: value for name, value in row.items() if name != "seq"} for row in sign_rows(recording).iter_rows(named=True)],
        **findings.to_dict(),
    }


def _named(row: dict[str, Any]) -> dict[str, Any]:
    return {(f"{name}_bytes" if name in BYTES else name): value for name, value in row.items()}
