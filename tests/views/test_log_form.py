"""The form for a dropped log, without a browser: values are set as a browser would set them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import kvlab
from kvlab import shipped
from kvlab.views.log_form import LogForm, log_form

FIXTURES = Path(__file__).parents[1] / "fixtures"


def drop(form: LogForm, name: str, content: bytes) -> None:
    at = datetime(2026, 11, 29, tzinfo=UTC)
    form.file.value = ({"name": name, "type": "text/plain", "size": len(content), "content": memoryview(content), "last_modified": at},)


def test_a_dropped_log_shows_its_findings() -> None:
    form = log_form()
    drop(form, "server.log", shipped.data("samples/ollama_grew.log").read_bytes())
    assert form.findings is not None
    assert form.findings.about("budget_or_leak").verdict == "over_budget_by_design"
    assert "over_budget_by_design" in form.shown.value
    assert "<h2>Checklist</h2>" in form.shown.value


def test_a_named_model_is_judged_again() -> None:
    form = LogForm()
    drop(form, "log.txt", (FIXTURES / "logs" / "real_18267_v0.33.3_abridged.txt").read_bytes())
    assert form.findings is not None
    assert form.findings.about("why_not_reused").numbers["limiting_layer"] == "recurrent or rotating"
    form.shape.value = "qwen3.8-27b"
    assert form.findings.about("why_not_reused").numbers["limiting_layer"] == "recurrent"
    form.shape.value = "qwen9000"
    assert "there is no shape" in form.shown.value


def test_an_unrelated_text_says_what_can_be_read() -> None:
    form = LogForm()
    drop(form, r"..\..\letter.txt", b"Dear reader,\nnothing of it is a log.\n")
    assert form.recording is None
    assert "server.log" in form.shown.value


def test_a_packed_recording_is_taken_too(tmp_path: Path) -> None:
    packed = kvlab.twin("smollm2").run("unrelated:3", progress=False).pack(tmp_path / "run.kvrec.zip")
    form = LogForm()
    drop(form, "run.kvrec.zip", packed.read_bytes())
    assert form.findings is not None
    assert len(form.findings) >= 9
    assert "Checklist" not in form.shown.value


def test_the_reports_that_are_shipped_are_those_of_the_tests() -> None:
    for path in shipped.data("reports").iterdir():
        assert path.read_bytes() == (FIXTURES / "reports" / path.name).read_bytes()
