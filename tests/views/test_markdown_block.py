"""The block for an issue tracker holds verdicts, figures and versions, and nothing that is nobody else's business."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kvlab
from kvlab.events import Event, Listed, Observed, RequestBegan, RequestClosed, Warned
from kvlab.findings.checklist import ITEMS, checklist
from kvlab.importers import import_file
from kvlab.recording import Recording
from kvlab.recording.policy_words import policy_words
from kvlab.units import GIB, MIB
from kvlab.views.markdown_block import markdown_block, without_places
from tests.findings.outside.seen import recording_of

FIXTURES = Path(__file__).parents[1] / "fixtures"
PROMPT = "Draft a resignation letter to my boss"
ANSWER = "Dear Ms Miller"
HOMES, MAC = "/home", "/Users"
PATH = re.compile(r"(?<![\w.<])(?:/[\w.-]+){2,}|[A-Za-z]:\\|~/")


@pytest.fixture
def private(monkeypatch: pytest.MonkeyPatch) -> Recording:
    monkeypatch.setenv("HOME", f"{HOMES}/jane")
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(name, "jane")
    events: list[tuple[float, int, Event]] = [(0.0, 0, Listed(count=1, model=f"{MAC}/jane/models/secret-7b", label="Forever"))]
    events.append((0.0, 0, Warned(message=f"cannot read {MAC}/jane/notes about jane@work.example.txt")))
    for number in range(1, 7):
        events.append((0.0, number, RequestBegan(label=PROMPT, text=PROMPT, tokens=30)))
        events.append((0.0, number, Warned(message=r"C:\Users\jane\x was not found")))
        events.append((0.0, number, Observed(gauge="paged_out", label=f"{HOMES}/jane/arm one", observed=number * GIB, step=1)))
        events.append((0.0, number, Observed(gauge="size", label=PROMPT, observed=18 * GIB + number * 300 * MIB, step=1)))
        events.append((0.0, number, RequestClosed(text=ANSWER, generated=4)))
    return recording_of(events, model=f"{HOMES}/jane/models/m", workload=f"{HOMES}/jane/mine.json", stored_text=True, origin={"file": f"{HOMES}/jane/x.csv"})


def test_no_path_user_prompt_or_answer_is_in_it(private: Recording) -> None:
    findings = kvlab.diagnose(private)
    notes = {"drain_and_lock": f"jane locks {HOMES}/jane/queue.lock by ssh jane@10.0.0.7", "thresholds": r"see C:\Users\jane\limits.txt"}
    block = markdown_block(private, findings, checklist(private, findings, notes=notes))
    assert PATH.findall(block) == []
    assert "jane" not in block.lower()
    for words in (PROMPT, ANSWER, "resignation", "Miller", "10.0.0.7", "secret-7b/"):
        assert words not in block


def test_verdicts_figures_and_versions_are_in_it() -> None:
    recording = kvlab.twin("qwen3.8-27b").run("unrelated:15", policy=kvlab.Policy.ollama("0.33.0"), progress=False)
    findings = kvlab.diagnose(recording)
    block = markdown_block(recording, findings)
    assert block.startswith("### qwen3.8-27b: budget_filling (confidence ")
    for finding in findings:
        assert f"{finding.question}: {finding.verdict}" in block or f"- {finding.question}: " in block
    assert f"| kvlab | {recording.manifest.kvlab} |" in block
    assert policy_words(recording.manifest.policy) in block
    assert "8.00 GiB" in block
    assert "Checklist" not in block
    assert all(line.count("|") >= 2 for line in block.splitlines() if line.startswith("|"))


@pytest.mark.parametrize("path", sorted((FIXTURES / "logs").iterdir()) + sorted((FIXTURES / "samples").glob("*.*")), ids=lambda path: path.name)
def test_every_sample_becomes_a_block_without_paths(path: Path) -> None:
    if path.suffix == ".md" and path.stem == "README":
        return
    recording = import_file(path).recording
    findings = kvlab.diagnose(recording)
    block = markdown_block(recording, findings, checklist(recording, findings))
    assert PATH.findall(block) == []
    assert block.count("- [") == len(ITEMS)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("at /build/mlx/allocator.cpp (exit)", "at (a path) (exit)"),
        (f"file:{HOMES}/x/y", "file:(a path)"),
        (r"C:\Users\x\y.txt gone", "(a path) gone"),
        ("~/models/x", "(a path)"),
        (f"{MAC}/jane doe/notes.txt", "(a path)"),
        ("read /api/ps and 50 tokens/s, and/or GB/GiB", "read api/ps and 50 tokens/s, and/or GB/GiB"),
        ("http://127.0.0.1:11434/api/ps", "(an address)"),
        ("mlx-community/Qwen3-4B", "mlx-community/Qwen3-4B"),
    ],
)
def test_places_are_taken_out_and_nothing_else(text: str, kept: str) -> None:
    assert without_places(text) == kept
