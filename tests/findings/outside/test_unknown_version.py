"""A log or a table without a version: every known set of rules is tried before growth is called a leak."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import kvlab
from kvlab.errors import BadValue
from kvlab.findings import facts
from kvlab.findings.compared_growth import compare
from kvlab.findings.simulated import RELEASES
from kvlab.importers import import_file
from kvlab.lab.twin import Twin
from kvlab.policy import Policy
from kvlab.recording.facts import Counts, Series
from kvlab.recording.reported import reported_bytes
from kvlab.workloads import resolve
from tests.tools.soak.known import VERSIONS

LOG = Path(__file__).parents[3] / "data" / "samples" / "ollama_grew.log"
SHAPE = kvlab.twin("qwen3.8-27b").shape


def without_version(tmp_path: Path, last: int | None = None) -> Path:
    lines = [line for line in LOG.read_text().splitlines() if "Listening" not in line]
    file = tmp_path / "server.log"
    file.write_text("\n".join(lines[-last:] if last else lines) + "\n")
    return file


def chat(version: str, leak: float = 0) -> Series:
    """Return a conversation as a server of that release reports it, with a leak of so many bytes a request."""
    policy = Policy.ollama(version)
    run = Twin(SHAPE, policy).run(resolve("chat:80"), policy, progress=False)
    held = np.array([count for _, count in sorted(reported_bytes(run).items())], dtype=np.float64)
    reported = tuple(Counts(*row) for row in run.requests.select("tokens", "matched", "generated").iter_rows())
    return Series(np.arange(1.0, len(held) + 1), reported, held + leak * np.arange(len(held)), 1, "size")


def test_every_known_release_is_tried() -> None:
    assert set(RELEASES) == set(VERSIONS)


def test_a_log_without_its_version_line_is_no_leak(tmp_path: Path) -> None:
    found = kvlab.diagnose(import_file(without_version(tmp_path)).recording).about("budget_or_leak")
    assert (found.verdict, found.confidence) == ("over_budget_by_design", "medium")
    assert found.numbers["version_that_fits"] in RELEASES
    assert str(found.numbers["version_that_fits"]) in found.summary


def test_the_end_of_a_log_is_no_leak(tmp_path: Path) -> None:
    recording = import_file(without_version(tmp_path, last=700)).recording
    assert kvlab.diagnose(recording, shape="gemma4-31b").about("budget_or_leak").verdict in ("over_budget_by_design", "not_enough_data")


@pytest.mark.parametrize("version", ["main", "0.33.0", "0.32.5"])
def test_growth_by_the_rules_of_any_release_is_explained(version: str) -> None:
    found = compare(chat(version), SHAPE)
    assert found.verdict == ("budget" if version == "main" else "over_budget_by_design")


def test_what_no_rules_explain_is_a_leak_and_never_high() -> None:
    found = compare(chat("main", leak=300e6), SHAPE)
    assert (found.verdict, found.confidence) in (("leak", "medium"), ("not_enough_data", "low"))
    assert compare(chat("0.32.5", leak=300e6), SHAPE).verdict == "leak"


def test_the_version_can_be_given(tmp_path: Path) -> None:
    recording = import_file(without_version(tmp_path)).recording
    found = kvlab.diagnose(recording, policy="0.32.5").about("budget_or_leak")
    assert found.verdict == "over_budget_by_design"
    # more than 15 requests, and what could hide in them is small next to what the named rules explain
    assert (found.numbers["requests"], found.confidence) == (26, "high")
    assert "version_that_fits" not in found.numbers
    assert kvlab.diagnose(recording, policy="main").about("budget_or_leak").verdict == "leak"
    assert facts(recording, policy="0.32.5").policy.value == Policy.ollama("0.32.5")
    with pytest.raises(BadValue):
        kvlab.diagnose(recording, policy="yesterday's")
