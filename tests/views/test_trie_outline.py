from __future__ import annotations

from typing import TYPE_CHECKING

from kvlab.views import static, trie_outline
from kvlab.views.outline_rows import outline_rows
from tests.views.charts import marks, one_dataset, png_size, specification, units

if TYPE_CHECKING:
    import pytest

    from kvlab.recording import Recording

FIRST_CLOSE, LAST_CLOSE = 11, 27


def test_rows_stand_depth_first(pair: Recording) -> None:
    rows = outline_rows(pair.at(LAST_CLOSE))
    assert [(row.node, row.depth, row.start, row.end) for row in rows] == [(0, 0, 0, 0), (2, 1, 0, 4), (1, 2, 4, 10), (3, 2, 4, 9)]
    assert [row.active for row in rows] == [True, True, False, True]
    assert [row.state for row in rows] == ["missing", "owned", "owned", "lazy"]
    assert [row.user for row in rows] == [False, False, False, True]


def test_before_the_split_there_is_one_edge(pair: Recording) -> None:
    rows = outline_rows(pair.at(FIRST_CLOSE))
    assert [(row.node, row.start, row.end, row.active, row.state) for row in rows] == [(0, 0, 0, True, "missing"), (1, 0, 10, True, "owned")]


def test_the_outline_as_text(pair: Recording) -> None:
    lines = trie_outline.outline_text(pair.at(LAST_CLOSE)).splitlines()
    assert lines[0] == f"trie after event {LAST_CLOSE}, in request 2: 4 nodes, 10.00 MiB counted; * = active path"
    assert [line.split("[")[0].rstrip() for line in lines[2:]] == ["* root", "*   #2", "      #1", "*     #3"]
    assert lines[3].split("[")[1].split() == ["0,", "4)", "4", "4.00", "MiB", "1", "owned"]
    assert lines[5].split("[")[1].split() == ["4,", "9)", "5", "0", "B", "1", "lazy,", "user"]


def test_a_long_outline_of_text_says_what_it_leaves_out(fifteen: Recording) -> None:
    lines = trie_outline.outline_text(fifteen.at(300), most=7).splitlines()
    assert len(lines) == 2 + 7
    assert lines[2 + 3].startswith("…")


def test_columns_beside_the_bars_over_one_dataset(pair: Recording) -> None:
    spec = specification(trie_outline.outline_chart(pair))
    assert marks(spec) == ["text", "bar", "bar", "text", "text", "text", "text"]
    assert [row["node"] for row in one_dataset(spec)] == [0, 2, 1, 3]


def test_bars_carry_state_and_the_frame_the_active_path(pair: Recording) -> None:
    _, frame, bars, *_ = units(specification(trie_outline.outline_chart(pair)))
    assert {"filter": "datum.active && datum.end > datum.start"} in frame["transform"]
    assert bars["encoding"]["fill"]["field"] == bars["encoding"]["stroke"]["field"] == "state"
    fills = dict(zip(bars["encoding"]["fill"]["scale"]["domain"], bars["encoding"]["fill"]["scale"]["range"], strict=True))
    assert fills["lazy"] == fills["missing"] == "transparent"
    assert bars["encoding"]["x"]["field"] == "start"
    assert bars["encoding"]["x2"]["field"] == "end"


def test_of_a_tall_trie_the_newest_nodes_stay_with_their_ancestors(fifteen: Recording) -> None:
    end = fifteen.at(int(fifteen.events.item(-1, "seq")))
    assert [row.node for row in outline_rows(end, 7)] == [0, 40, 41, 42, 43, 44, 45]
    assert [row.node for row in outline_rows(end, 9)] == [0, 40, 41, 42, 43, 44, 45], "a branch is there as a whole or not at all"
    assert len(outline_rows(end, 31)) == 31


def test_a_tall_trie_is_cut_and_says_so(fifteen: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trie_outline, "LINES", 10)
    spec = specification(trie_outline.outline_chart(fifteen))
    assert len(one_dataset(spec)) == 10
    assert "up to 21 more are not drawn" in spec["title"]["subtitle"]


def test_one_moment_alone(pair: Recording) -> None:
    spec = specification(trie_outline.moment_chart(pair.at(FIRST_CLOSE)))
    assert [row["node"] for row in one_dataset(spec)] == [0, 1]
    assert spec["title"]["text"] == f"The trie after event {FIRST_CLOSE}, in request 1"


def test_no_nodes(empty: Recording) -> None:
    assert png_size(static.png(trie_outline.outline_chart(empty)))[0] > 100
