"""Text from outside in a recording reaches a terminal, Markdown or a repr without control characters, escapes and marks of direction."""

from __future__ import annotations

import dataclasses
import unicodedata
from pathlib import Path

import polars as pl
import pytest

import kvlab
from kvlab.errors import BadValue, KvlabError
from kvlab.events import LifeSign, Listed, Loaded, ProcessSeen, RequestBegan, RequestClosed, Warned
from kvlab.findings.checklist import checklist
from kvlab.recording import Manifest, Recording
from kvlab.views.markdown_block import markdown_block
from kvlab.views.mimebundle import text_form
from kvlab.visible_text import storable, visible

HOSTILE = "a\x1b]0;b\x07\x1b[2J\r\x9b1m\u202egnp.exe\u2066\u200f\ud800\u2028# b\x00\x7f"


def hidden(text: str) -> set[str]:
    """Return the control, format and surrogate characters of a text, by Unicode's own table; what joins emoji is none."""
    return {letter for letter in text if letter not in "\n\t\u200c\u200d" and unicodedata.category(letter) in {"Cc", "Cf", "Cs", "Zl", "Zp"}}


@pytest.fixture
def hostile() -> Recording:
    """A run in which every text that a stranger can set is hostile, and one of a probe."""
    run = kvlab.twin("smollm2").run("unrelated:3", progress=False, store_text=True)
    texts = [name for name, kind in run.events.schema.items() if kind == pl.String and name in {"label", "text", "message", "words", "model", "at", "digest"}]
    events = run.events.with_columns(pl.when(pl.col(name).is_not_null()).then(pl.lit(storable(HOSTILE))).otherwise(pl.col(name)).alias(name) for name in texts)
    named = {"model": HOSTILE, "workload": HOSTILE, "origin": {"a": HOSTILE, "server_version": HOSTILE}, "kvlab": HOSTILE, "mlx": HOSTILE}
    shape = run.manifest.shape | {"name": HOSTILE}
    return Recording(dataclasses.replace(run.manifest, **named, shape=shape), events)


def probed() -> Recording:
    about = Manifest.now(model=HOSTILE, origin={"server_version": HOSTILE, "server": HOSTILE, "port": 1}, source="probe", workload=HOSTILE)
    events = [
        Loaded(),
        Listed(count=1, model=HOSTILE, digest=HOSTILE, label=HOSTILE),
        ProcessSeen(pid=3, label=HOSTILE, model=HOSTILE),
        RequestBegan(request=1, label=HOSTILE),
        LifeSign(request=1, state="failed", message=HOSTILE, model=HOSTILE),
        Warned(message=HOSTILE),
        RequestClosed(request=1, stop="failed"),
    ]
    for seq, event in enumerate(events):
        event.seq = seq
    return Recording.of(about, events)


def test_no_form_of_a_recording_hides_a_character(hostile: Recording) -> None:
    for recording in (hostile, probed()):
        findings = kvlab.diagnose(recording)
        filled = checklist(recording, findings, notes={"drain_and_lock": HOSTILE})
        comparison = kvlab.compare(recording, recording)
        shown = [recording, findings, kvlab.facts(recording), comparison, filled, recording.at(recording.events.height - 1), recording.shape]
        forms = [*map(repr, shown), *map(str, shown), markdown_block(recording, findings, filled), *(finding.text(figures=True) for finding in findings)]
        bundles = [one._repr_mimebundle_()["text/plain"] for one in (findings, comparison)]
        for text in [*forms, *bundles, visible(text_form(recording))]:
            assert not hidden(text)


def test_a_second_line_of_a_recorded_text_is_no_heading(hostile: Recording) -> None:
    recording = Recording(hostile.manifest, hostile.events.with_columns(pl.col("label").replace({storable(HOSTILE): "a\n\n# all is well"})))
    assert not any(line.startswith("# ") for line in markdown_block(recording, kvlab.diagnose(recording)).splitlines())


def test_an_error_shows_what_it_is_about() -> None:
    error = BadValue(what=HOSTILE, why=HOSTILE, hint=HOSTILE)
    assert not hidden(str(error))
    with pytest.raises(KvlabError) as caught:
        kvlab.twin(f"no{HOSTILE}")
    assert not hidden(str(caught.value))


def test_what_is_shown_differs_from_plain_text_in_hidden_characters_alone() -> None:
    letters = "".join(map(chr, [*range(32, 127), *range(0xA0, 0x2FFF), *range(0x1F300, 0x1FAFF)]))
    kept = "".join(letter for letter in letters if not hidden(letter))
    assert visible(kept) == kept
    assert not hidden(visible("".join(map(chr, range(0x110000)))))


def test_halves_of_surrogate_pairs_do_no_harm(tmp_path: Path) -> None:
    workload = kvlab.workloads.Workload(name="a\ud800", requests=(kvlab.Request(label="b\udfff", tokens=(1, 2), max_new=1),))
    recording = kvlab.twin("smollm2").run(workload, progress=False, store_text=True, out=str(tmp_path / "a.kvrec"))
    assert kvlab.load(tmp_path / "a.kvrec").manifest.workload == recording.manifest.workload == "a\ufffd"
    assert kvlab.load(recording.pack()).requests["label"].to_list() == ["b\ufffd"]
