"""`kvlab diagnose` and `kvlab report` on what people already have."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kvlab.importers import KINDS

Kvlab = Callable[..., Any]
FIXTURES = Path(__file__).parents[1] / "fixtures"
TABLE = FIXTURES / "samples" / "request_size_simple.csv"
LOG = FIXTURES / "logs" / "real_18267_v0.33.3_abridged.txt"


def finding(said: Any, question: str) -> dict[str, Any]:
    return next(one for one in said.json["findings"] if one["question"] == question)


def test_diagnose_a_table(kvlab_says: Kvlab) -> None:
    assert finding(kvlab_says("diagnose", TABLE, "--json"), "budget_or_leak")["verdict"] == "budget"
    said = kvlab_says("diagnose", TABLE)
    assert said.code == 0
    assert said.out.startswith("budget_or_leak: budget (confidence medium)")
    assert "not answered by this recording" in said.out


def test_shape_names_the_layer(kvlab_says: Kvlab) -> None:
    said = kvlab_says("diagnose", LOG, "--shape", "qwen3.8-27b", "--json")
    assert finding(said, "why_not_reused")["numbers"]["limiting_layer"] == "recurrent"


@pytest.mark.parametrize(("shape", "code"), [("qwen9000", 2), ("/nowhere/config.json", 3)])
def test_a_shape_that_cannot_be_used(kvlab_says: Kvlab, shape: str, code: int) -> None:
    said = kvlab_says("diagnose", LOG, "--shape", shape)
    assert (said.code, said.out) == (code, "")


def test_policy_names_the_servers_version(kvlab_says: Kvlab, tmp_path: Path) -> None:
    log = Path(__file__).parents[2] / "data" / "samples" / "ollama_grew.log"
    file = tmp_path / "server.log"
    file.write_text("".join(line for line in log.read_text().splitlines(keepends=True) if "Listening" not in line))
    said = finding(kvlab_says("diagnose", file, "--policy", "0.32.5", "--json"), "budget_or_leak")
    assert said["verdict"] == "over_budget_by_design"
    # rules that were named are as good as those that the log names
    assert (said["numbers"]["requests"], said["confidence"]) == (26, "high")
    assert "over_budget_by_design" in kvlab_says("report", file, "--markdown", "--policy", "0.32.5").out


@pytest.mark.parametrize("command", ["diagnose", "report"])
def test_a_policy_that_is_no_version_is_2(kvlab_says: Kvlab, command: str) -> None:
    said = kvlab_says(command, TABLE, "--policy", "yesterday")
    assert (said.code, said.out) == (2, "")


@pytest.mark.parametrize("command", ["diagnose", "report"])
def test_an_unrelated_text_is_3_and_names_what_can_be_read(kvlab_says: Kvlab, command: str, tmp_path: Path) -> None:
    file = tmp_path / "letter.txt"
    file.write_text("Dear reader,\n\nthe weather here is fine. We walked along the river and saw two herons.\n")
    said = kvlab_says(command, file)
    assert (said.code, said.out) == (3, "")
    for about in KINDS.values():
        assert about in said.err


def test_report_as_markdown_is_printed_or_written(kvlab_says: Kvlab, tmp_path: Path) -> None:
    said = kvlab_says("report", TABLE, "--markdown")
    assert said.code == 0
    assert said.out.startswith("### ")
    assert "**Checklist**" in said.out
    out = tmp_path / "block.md"
    assert str(out) in kvlab_says("report", TABLE, "--markdown", "-o", out).out
    assert out.read_text() == said.out


def test_notes_and_further_recordings_fill_the_checklist(kvlab_says: Kvlab) -> None:
    log = FIXTURES / "samples" / "mlxrunner.log"
    said = kvlab_says("report", TABLE, "--markdown", "--also", log, "--note", "thresholds=1 %, 30 s, daily")
    assert "- [x] the server's log, kept with the figures" in said.out
    assert "recycle: 1 %, 30 s, daily" in said.out


@pytest.mark.parametrize("note", ["thresholds", "weather=fine"])
def test_a_note_on_nothing_is_2(kvlab_says: Kvlab, note: str) -> None:
    assert kvlab_says("report", TABLE, "--markdown", "--note", note).code == 2


def test_report_of_a_table_is_a_page(kvlab_says: Kvlab, tmp_path: Path) -> None:
    out = tmp_path / "report.html"
    assert kvlab_says("report", TABLE, "-o", out).code == 0
    assert "<h2>Checklist</h2>" in out.read_text()
