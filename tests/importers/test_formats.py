"""Every format's own test: the sample of each line, heading and answer gives the fields that its file says."""

from __future__ import annotations

from typing import Any

import pytest

from kvlab.events import Event, Observed
from kvlab.importers.formats import Answer, Columns, Format, Line, Record, Spec, formats, read_format
from kvlab.importers.ollama_log import OllamaLog
from kvlab.importers.paste import Paste
from kvlab.importers.rows import KeptTables, Rows
from kvlab.importers.summary import Summary

SPECS = [(one, spec) for one in formats().values() for spec in (*one.lines, *one.columns, *one.answers)]
NAMED = [(one, spec) for one, spec in SPECS if spec.sample]


def _read(text: str, kind: str) -> tuple[Paste, list[Event]]:
    kept, summary = KeptTables(), Summary()
    rows = Rows(kept, kind)
    paste = Paste(rows, summary, kind)
    paste.lines(text.split("\n"))
    paste.finish()
    rows.flush()
    return paste, list(kept.events())


def _values(paste: Paste, events: list[Event]) -> dict[str, Any]:
    """What was read by the names of fields: first what the text says, then what the events hold."""
    values: dict[str, Any] = {}
    for number, text, figures in paste.account.lines():
        del number
        for figure in figures:
            if figure.taken:
                shown = text[figure.start : figure.start + len(figure.text)]
                values[figure.taken] = _share_or_count(shown) if figure.taken in ("done", "share") else shown
    for event in events:
        if isinstance(event, Observed):
            values[event.gauge] = next((one for one in (event.observed, event.number, event.words) if one is not None), None)
            values["label"] = event.label or values.get("label")
        else:
            names = ("tokens", "matched", "cached", "left", "generated", "ttft_s", "prefill_s", "decode_s", "peak")
            values |= {name: value for name in names if (value := getattr(event, name, None)) is not None}
    return values


def _share_or_count(shown: str) -> float:
    return float(shown.rstrip("%")) / (100 if shown.endswith("%") else 1)


def _text(one: Format, spec: Spec) -> str:
    """The sample, after a line that begins a block where it is inside one."""
    if isinstance(spec, Line) and spec.inside:
        opener = next(line for line in one.lines if line.opens and line is not spec)
        return f"{opener.sample}\n{spec.sample}"
    return spec.sample.strip("\n")


@pytest.mark.parametrize(("one", "spec"), NAMED, ids=[f"{spec.format}: {spec.name}" for _, spec in NAMED])
def test_a_sample_gives_its_fields(one: Format, spec: Spec) -> None:
    paste, events = _read(_text(one, spec), one.name)
    assert spec.format in paste.read
    values = _values(paste, events)
    assert {name: pytest.approx(values.get(name)) if isinstance(values.get(name), float) else values.get(name) for name in spec.gives} == dict(spec.gives)


RECORDS = [spec for one in formats().values() for spec in one.records]


@pytest.mark.parametrize("spec", [spec for spec in RECORDS if spec.sample], ids=lambda spec: spec.begins[0])
def test_a_record_gives_its_fields(spec: Record) -> None:
    text = spec.sample.rpartition("msg=")[2]
    assert text.startswith(spec.begins)
    found = spec.pattern.search(text)
    assert found is not None
    assert {name: type(value)(found[name]) for name, value in spec.gives.items()} == dict(spec.gives)


@pytest.mark.parametrize("spec", [spec for spec in RECORDS if spec.sample], ids=lambda spec: spec.begins[0])
def test_a_record_is_read(spec: Record) -> None:
    kept, summary = KeptTables(), Summary()
    log = OllamaLog(Rows(kept, "ollama-log"), summary)
    log.lines([spec.sample])
    log.finish()
    assert summary.total("read") == 1


@pytest.mark.parametrize(("one", "spec"), SPECS, ids=[f"{spec.format}: {spec.name}" for _, spec in SPECS])
def test_what_has_figures_has_a_sample(one: Format, spec: Spec) -> None:
    del one
    fields = spec.pattern.groupindex if isinstance(spec, Line) else spec.fields if isinstance(spec, Columns | Answer) else {}
    assert spec.sample or not fields or spec.name in ("moment", "checkpoint erased", "keys and values, by backend")
    if isinstance(spec, Line):
        assert spec.has in spec.sample or not spec.sample


def test_a_field_that_no_gauge_explains_is_refused() -> None:
    line = {"has": "x", "pattern": "x (?P<unheard_of>.*)"}
    with pytest.raises(ValueError, match="unheard_of is not known"):
        read_format({"name": "n", "about": "a", "line": [line]})


def test_a_server_is_added_by_a_file_alone() -> None:
    """A format of a table as TOML gives it is all that it takes."""
    one = read_format(
        {
            "name": "my-server",
            "about": "a server of one's own",
            "line": [{"has": "kv=", "request": "ends", "pattern": r"turn done: prompt=(?P<tokens>\d+) hit=(?P<cached>\d+) kv=(?P<kv_cache>\S+)"}],
        }
    )
    assert one.lines[0].pattern.fullmatch("turn done: prompt=12 hit=10 kv=3MiB")
