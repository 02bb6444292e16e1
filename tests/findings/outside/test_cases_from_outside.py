"""The handed cases seen as a user sees them: SIZE in bytes or cut to whole GB, one request late or not, and total / matched of each request."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from kvlab.findings.compared_growth import compare
from kvlab.lab.twin import Twin
from kvlab.policy import Policy
from kvlab.recording.facts import Counts, Series
from kvlab.recording.reported import reported_bytes
from kvlab.units import GB
from kvlab.workloads import case

CASES = Path(__file__).parents[2] / "cases"
GROWTH = ("budget", "budget_filling", "over_budget_by_design", "leak")


def growth_cases() -> list[Path]:
    return [path for path in sorted(CASES.glob("*.json")) if json.loads(path.read_text())["expected"].get("verdict") in GROWTH]


@pytest.mark.parametrize("late", [0, 1])
@pytest.mark.parametrize("step", [1, GB])
@pytest.mark.parametrize("path", growth_cases(), ids=lambda path: path.stem)
def test_the_verdict_is_the_listed_one(path: Path, step: int, late: int) -> None:
    workload = case(path)
    assert workload.shape is not None
    policy = Policy.from_dict(workload.policy)
    recording = Twin(workload.shape, policy).run(workload, policy, progress=False)
    rows = recording.requests
    counted = np.array([count for _, count in sorted(reported_bytes(recording).items())], dtype=np.float64)
    held = counted + (rows["snapshots"] - rows["counted"]).to_numpy()
    shown = np.concatenate([held[:1], held[: len(held) - 1]]) if late else held
    reported = tuple(Counts(*row) for row in rows.select("tokens", "matched", "generated").iter_rows())
    seen = Series(rows["request"].to_numpy().astype(np.float64), reported, np.floor(shown / step) * step, step, "size")
    assert compare(seen, workload.shape, policy).verdict == workload.expected["verdict"]
