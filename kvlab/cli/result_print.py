"""What `run`, `twin` and `check` print of a recording: its rows and findings as text, or one JSON object and nothing else."""

from __future__ import annotations

from typing import Any

from kvlab.cli import arguments
from kvlab.recording import Recording


def print_result(recording: Recording, *, as_json: bool, expected: dict[str, Any] | None = None) -> list[dict[str, Any]]:
    """Diagnose a recording, print it, and return what differs from `expected`, which is printed too."""
    from kvlab.cli.expected import differences
    from kvlab.cli.result_json import result
    from kvlab.cli.result_text import result_text
    from kvlab.diagnose import diagnose

    findings = diagnose(recording)
    told = result(recording, findings)
    differs = differences(expected, told) if expected else []
    if expected:
        told["expected"] = {"holds": not differs, "differences": differs}
    if as_json:
        arguments.print_json(told)
        return differs
    print(result_text(recording, findings))
    if expected:
        print("\nall that the case expects holds" if not differs else "\nnot what the case expects:")
    for row in differs:
        where = "" if row["request"] is None else f" of request {row['request']}"
        print(f"  {row['what']}{where}: expected {row['expected']}, got {row['got']}")
    return differs
