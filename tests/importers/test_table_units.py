"""Tables whose units have to be worked out: bare bytes, points between thousands, figures that cannot be, and headings that no question reads."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

import kvlab
from kvlab.errors import UnreadableInput
from kvlab.importers import import_file
from tests.importers.read import GB, observed, requests

MB = 10**6


def _table(folder: Path, text: str) -> Path:
    path = folder / "table.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_whole_numbers_of_a_size_are_bytes_as_the_server_tells_them(tmp_path: Path) -> None:
    rec = import_file(_table(tmp_path, "time,SIZE\n2026-09-20T10:00:00Z,18000000000\n2026-09-20T10:01:00Z,18300000001\n")).recording
    assert observed(rec, "size", "value", "unit", "step") == [(18 * GB, "B", 1), (18 * GB + 300 * MB + 1, "B", 1)]
    rec = import_file(_table(tmp_path, "request,tokens,cached,peak\n1,10,0,18000000000\n2,20,9,18300000000\n")).recording
    assert requests(rec, "peak") == [(18 * GB,), (18 * GB + 300 * MB,)]


@pytest.mark.parametrize("kind", [None, "table"])
@pytest.mark.parametrize("text", ["peak at {}.000 tokens: 2{},5 GB\n", "after {} calls 13,{} GB\n", "{} calls, then 1{},25 GiB\n"])
def test_a_decimal_comma_in_the_first_line_does_not_part_headings(tmp_path: Path, text: str, kind: str | None) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("".join(text.format(number, number) for number in range(1, 5)), encoding="utf-8")
    with contextlib.suppress(UnreadableInput):
        rec = import_file(path, kind).recording
        assert not rec.observed.height
        assert requests(rec, "tokens", "peak") == [(None, None)] * 4


def test_the_words_of_other_languages_and_of_panes_are_sizes(tmp_path: Path) -> None:
    assert observed(import_file(_table(tmp_path, "Zeit;Größe\n1;18,5 GB\n2;18,8 GB\n")).recording, "size") == [(18_500 * MB,), (18_800 * MB,)]
    assert observed(import_file(_table(tmp_path, "n,memory used (GB)\n0,18.0\n1,18.3\n")).recording, "memory_used") == [(18_000 * MB,), (18_300 * MB,)]


def test_our_own_exported_requests_are_read_as_bytes(tmp_path: Path) -> None:
    titles = "request,label,tokens,matched,cached,left,generated,peak,nodes,counted,live,snapshots,retained,active,unattributed,pool,budget"
    rec = import_file(_table(tmp_path, f"{titles}\n1,a,10,0,0,10,4,900,2,100,200,120,820,830,10,0,8589934592\n")).recording
    assert requests(rec, "tokens", "generated", "peak", "counted", "live", "snapshots", "retained", "active", "unattributed", "pool", "budget") == [
        (10, 4, 900, 100, 200, 120, 820, 830, 10, 0, 8589934592)
    ]


def test_columns_that_no_question_reads_are_named(tmp_path: Path) -> None:
    imported = import_file(_table(tmp_path, "time,SIZE,mood,RAM thing\n2026-09-20T10:00:00Z,18.0,3,20 GB\n2026-09-20T10:01:00Z,18.3,4,21 GB\n"))
    shown = str(imported.summary)
    assert "'SIZE': figures without a unit" in shown
    assert "'mood'" in shown
    assert "'RAM thing'" in shown
    assert "'time'" not in shown


@pytest.mark.parametrize(
    ("cells", "bytes_"),
    [
        # one cell says what the point is in its column
        (("18.000", "18.300", "18.55"), (18 * MB, 18_300_000, 18_550_000)),
        (("18.000", "1.018.300"), (18_000 * MB, 1_018_300 * MB)),
        (("18.000,5", "18.300"), (18_000_500_000, 18_300 * MB)),
        # a comma is between thousands unless its column says otherwise
        (("18,000", "18,300"), (18_000 * MB, 18_300 * MB)),
        (("18,000", "18,5"), (18 * MB, 18_500_000)),
        (("18\u202f000", "18\u202f300"), (18_000 * MB, 18_300 * MB)),
        (("18\u2009000", "18\u00a0300"), (18_000 * MB, 18_300 * MB)),
        (("18'000", "18\u2019300"), (18_000 * MB, 18_300 * MB)),
        (("18000", "18300"), (18_000 * MB, 18_300 * MB)),
    ],
)
def test_a_column_is_read_in_one_way(tmp_path: Path, cells: tuple[str, ...], bytes_: tuple[int, ...]) -> None:
    rec = import_file(_table(tmp_path, "request;size_mb\n" + "".join(f"{place};{cell}\n" for place, cell in enumerate(cells)))).recording
    assert observed(rec, "size") == [(count,) for count in bytes_]


def test_another_column_says_what_a_point_is(tmp_path: Path) -> None:
    rec = import_file(_table(tmp_path, "request;size_mb;seconds\n0;18.000;1,5\n1;18.300;2,25\n")).recording
    assert observed(rec, "size") == [(18_000 * MB,), (18_300 * MB,)]
    rec = import_file(_table(tmp_path, "request;size_mb;seconds\n0;18.000;1.5\n1;18.300;2.25\n")).recording
    assert observed(rec, "size") == [(18 * MB,), (18_300_000,)]


def test_points_that_may_be_either_are_asked_about(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"'size_mb'.*18\.000.*18000") as raised:
        import_file(_table(tmp_path, "request;size_mb\n0;18.000\n1;18.300\n"))
    assert "GB" in str(raised.value)
    # thousands of gigabytes are not seen
    assert observed(import_file(_table(tmp_path, "request;size_gb\n0;18.000\n1;18.300\n")).recording, "size") == [(18 * GB,), (18_300 * MB,)]


def test_figures_that_cannot_be_are_not_understood(tmp_path: Path) -> None:
    imported = import_file(_table(tmp_path, "request,size\n0,18 GB\n1,-5 GB\n2,nan\n3,inf\n4,\n5,-\n6,19 GB\n"))
    assert [value for (value,) in observed(imported.recording, "size") if value is not None] == [18 * GB, 19 * GB]
    assert imported.summary.of("not_understood") == {"row with a figure that is not understood": 3}


@pytest.mark.parametrize(
    "text",
    [
        "sepal_length,sepal_width,species\n5.1,3.5,setosa\n4.9,3.0,setosa\n",
        "date;amount;text\n2026-01-01;12,50;coffee\n2026-01-02;1.200,00;rent\n",
        "date,item,total\n2026-01-01,bread,3\n2026-01-02,milk,2\n",
        "| code | .py files | lines | largest |\n|---|---|---|---|\n| a | 19 | 1,385 | 257 |\n",
        "| chart | spec | first |\n|---|---|---|\n| trie | 52 KB | 229 |\n| lines | 515 KB | 405 |\n",
        "name,size,colour\nshirt,42,red\nshoe,44,blue\n",
    ],
)
def test_a_table_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UnreadableInput, match="of no kind that can be read"):
        import_file(_table(tmp_path, text))


def test_a_point_between_thousands_of_a_count(tmp_path: Path) -> None:
    shown = "request;rss;size\n1.000;18,5 GB;1.234 GB\n2.000;19,2 GB;2.000 GB\n"
    rec = import_file(_table(tmp_path, shown)).recording
    assert observed(rec, "size", "request", "value") == [(1000, 1234 * GB), (2000, 2000 * GB)]
    rec = import_file(_table(tmp_path, "request;size\n1.250;18 GB\n2.000;19 GB\n")).recording
    assert observed(rec, "size", "request") == [(1250,), (2000,)]
    with pytest.raises(UnreadableInput, match=r"1\.000 may be 1000 or 1"):
        import_file(_table(tmp_path, "request;size\n1.000;18 GB\n2.000;19 GB\n"))


def test_a_table_that_can_be_read_in_two_ways_sinks_nothing_else(tmp_path: Path) -> None:
    imported = import_file(_table(tmp_path, "OLLAMA_KEEP_ALIVE=10m\n\nrequest;size\n1.000;18 GB\n2.000;19 GB\n"))
    assert observed(imported.recording, "setting", "words") == [("10m",)]
    assert any("1.000 may be 1000 or 1" in note for note in imported.summary.notes)


@pytest.mark.parametrize("odd", ["1e30", "1e30 GB", "-5 GB", "-1", "null", "nan", "inf", "1e400", "", "9" * 400, "999999999999999999999 GiB"])
def test_a_number_that_no_event_holds_is_left_or_refused_and_makes_a_report(tmp_path: Path, odd: str) -> None:
    for shown in ("request,size\n1,18 GB\n2,{}\n3,20 GB\n", "request,matched,cached,prompt tokens\n1,1,1,1\n{},{},{},{}\n"):
        with contextlib.suppress(UnreadableInput):
            recording = import_file(_table(tmp_path, shown.format(*[odd] * 4))).recording
            assert str(kvlab.diagnose(recording))
