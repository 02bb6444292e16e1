"""Public reports: every figure that a person reads off them is in the tables, without a word on what the file is; and again in every dress."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

from kvlab.importers import import_file
from kvlab.recording import Recording
from tests.importers.read import FIXTURES, observed, rows
from tests.importers.report_figures import REPORTS, Report, value
from tests.importers.variants import VARIANTS, varied

REPORTS_FOLDER = FIXTURES / "reports"
SEED = 20261130


def _same(found: float | None, expected: float | None) -> bool:
    return found == expected if found is None or expected is None else found == pytest.approx(expected, rel=1e-6, abs=0.51)


def _check(rec: Recording, report: Report) -> None:
    """Compare with what a person reads off; sizes are rounded to whole bytes, seconds are exact."""
    for gauge, figures in report.gauges.items():
        found = observed(rec, gauge, "label", "value", "number")
        unit = report.unit.get(gauge, report.unit.get("", ""))
        for (label, whole, number), text in zip(found, figures, strict=True):
            whose, colon, figure = text.rpartition(": ")
            assert not colon or whose == label
            expected = value(figure.removesuffix(" GB") if unit == "GB of 1024" else figure, unit)
            assert _same(whole if whole is not None else number, expected), (gauge, text, whole, number)
    for column, cells in report.requests.items():
        found = rec.requests.get_column(column).to_list()
        assert len(found) == len(cells), column
        for one, text in zip(found, cells, strict=True):
            assert _same(one, None if text is None else value(text)), (column, one, text)
    for (kind, name), words in report.words.items():
        events = rows(rec, kind, name)
        found = [one for (one,) in events if kind != "observed" or one is not None]
        assert found[: len(words)] == words, (kind, name)


def test_all_reports_have_expectations() -> None:
    files = {str(path.relative_to(REPORTS_FOLDER)) for path in REPORTS_FOLDER.rglob("*.*")}
    assert files == set(REPORTS)


@pytest.mark.parametrize("name", REPORTS)
def test_what_a_person_reads_off(name: str) -> None:
    imported = import_file(REPORTS_FOLDER / name)
    assert imported.kind == REPORTS[name].kind
    _check(imported.recording, REPORTS[name])


@pytest.mark.parametrize("name", REPORTS)
def test_in_every_dress(tmp_path: Path, name: str) -> None:
    """At least 20 variants of each: other names, numbers, order of lines and language, packed, quoted, behind a journal's prefixes."""
    rng = random.Random(f"{SEED} {name}")
    text = (REPORTS_FOLDER / name).read_text(encoding="utf-8")
    for place, variant in enumerate(VARIANTS):
        data, report, file = varied(rng, variant, text, REPORTS[name], name)
        path = tmp_path / f"{place}" / file
        path.parent.mkdir()
        path.write_bytes(data)
        try:
            imported = import_file(path)
            _check(imported.recording, report)
        except Exception as error:
            error.add_note(f"{name}, variant {variant}")
            raise
    assert len(VARIANTS) >= 20


def test_two_summaries_of_regions_are_two_readings(tmp_path: Path) -> None:
    text = "".join((REPORTS_FOLDER / f"pasted/vmmap{place}.txt").read_text() for place in (1, 2))
    path = tmp_path / "both.txt"
    path.write_text(text)
    rec = import_file(path).recording
    large = rec.observed.filter((pl.col("gauge") == "region_virtual") & (pl.col("label") == "MALLOC_LARGE"))
    assert large.get_column("value").to_list() == pytest.approx([2.1 * 2**30, 7.6 * 2**30], abs=1)
