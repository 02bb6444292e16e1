"""What `run`, `twin` and `check` print of a recording: its rows and findings as text, or one JSON object and nothing else."""

from __future__ import annotations

from kvlab.cli import arguments
from kvlab.recording import Recording


def print_result(recording: Recording, *, as_json: bool) -> None:
    """Diagnose a recording and print it."""
    from kvlab.cli.result_json import result
    from kvlab.cli.result_text import result_text
    from kvlab.diagnose import diagnose

    findings = diagnose(recording)
    if as_json:
        arguments.print_json(result(recording, findings))
    else:
        print(result_text(recording, findings))
