"""What a case file expects, held against what was recorded: a line for each figure that differs.

Counts are exact. Paged-out bytes may differ by 0.01 GiB (0.005 where the case's source says published), reported ones by 0.05 GiB. The
verdict must be among the findings. Words such as `reason` and `note` are for readers; choices under `control` are another run.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from kvlab.units import GIB
from kvlab.workloads import Workload

PAGED_GIB, PUBLISHED_GIB, REPORTED_GIB = 0.01, 0.005, 0.05
EXACT = ("matched", "cached", "left", "nodes")


def differences(expected: dict[str, Any], result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what differs as rows of `what`, `request` (None for the whole run), `expected` and `got`.

    Args:
        expected: The `expected` of a case file.
        result: What the run did, as `kvlab.cli.result_json.result` tells it.
    """
    return [{"what": what, "request": request, "expected": wanted, "got": got} for what, request, wanted, got in _all(expected, result)]


def expected_of(workload: Workload, args: argparse.Namespace) -> dict[str, Any]:
    """Return what `workload` expects; nothing when the command line changes its model or its rules, because the figures are those of the file as it stands."""
    changed = any(getattr(args, name, None) for name in ("shape", "layers", "scale", "policy", "choices", "budget"))
    return {} if changed else workload.expected


_Row = tuple[str, int | None, Any, Any]


def _all(expected: dict[str, Any], result: dict[str, Any]) -> Iterator[_Row]:
    rows: list[dict[str, Any]] = result["requests"]
    checkpoints: list[dict[str, Any]] = expected.get("checkpoints", [])
    verdicts = [finding["verdict"] for finding in result["findings"]]
    if "verdict" in expected and expected["verdict"] not in verdicts:
        yield "verdict", None, expected["verdict"], verdicts
    paged = PUBLISHED_GIB if "published" in str(expected.get("source", "")) else PAGED_GIB
    for checkpoint in checkpoints:
        number: int = checkpoint["request"]
        if number > len(rows):
            yield "requests", None, number, len(rows)
        else:
            yield from _checkpoint(checkpoint, rows[number - 1], paged)
    for name, key in (("paged_out_bytes", "paged_out_bytes"), ("nodes", "nodes")):
        wanted = expected.get(name)
        if isinstance(wanted, list) and wanted != (got := [row[key] for row in rows]):
            yield name, None, wanted, got
    if "violation" in expected and expected["violation"] not in (told := [row["detail"] for row in result["violations"]]):
        yield "violation", None, expected["violation"], told
    yield from _per_capture(expected, result)


def _checkpoint(wanted: dict[str, Any], row: dict[str, Any], paged: float) -> Iterator[_Row]:
    number = row["request"]
    for name in EXACT:
        if name in wanted and wanted[name] != row[name]:
            yield name, number, wanted[name], row[name]
    for name, key, tolerance in (("paged_gib", "paged_out_bytes", paged), ("reported_gib", "reported_bytes", REPORTED_GIB)):
        got = row[key]
        # the tolerance is one of printed figures: the last bit of a binary fraction must not decide
        if name in wanted and (got is None or abs(got / GIB - wanted[name]) > tolerance + 1e-9):
            yield name, number, wanted[name], None if got is None else round(got / GIB, 4)
    if "wrong_positions" in wanted:
        found = [(one["positions"], one["belongs_to_request"]) for one in row["wrong_positions"]]
        if (wanted["wrong_positions"], wanted["belongs_to_request"]) not in found:
            yield "wrong_positions", number, [wanted["wrong_positions"], wanted["belongs_to_request"]], found
    if "warning" in wanted and not any(wanted["warning"] in warning for warning in row["warnings"]):
        yield "warning", number, wanted["warning"], row["warnings"]


def _per_capture(expected: dict[str, Any], result: dict[str, Any]) -> Iterator[_Row]:
    none: dict[str, Any] = {}
    numbers: dict[str, Any] = next((one["numbers"] for one in result["findings"] if one["question"] == "who_holds_it"), none)
    chunk = f"pinned_per_capture_bytes_at_chunk_{result['policy'].get('prefill_chunk')}"
    for name, key in (("counted_per_capture_bytes", "counted_per_capture_bytes"), (chunk, "pinned_per_capture_bytes")):
        if name in expected and expected[name] != numbers.get(key):
            yield name, None, expected[name], numbers.get(key)
