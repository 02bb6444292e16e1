from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt
import polars as pl
import pytest

from kvlab.views import static
from kvlab.views.spans_chart import spans_chart, spans_text
from kvlab.views.spans_rows import FAR, group_labels, layer_range, with_lanes
from tests.views.charts import marks, one_dataset, png_size, specification, units
from tests.views.conftest import SHAPE

if TYPE_CHECKING:
    from kvlab.recording import Recording


@pytest.mark.parametrize(
    ("layers", "words"), [([], "none"), ([4], "4"), ([0, 1, 2], "0-2"), ([3, 7], "3, 7"), ([3, 7, 11, 15], "3, 7, … 15"), (list(range(30)), "0-29")]
)
def test_layers_in_words(layers: list[int], words: str) -> None:
    assert layer_range(layers) == words


def test_a_group_is_called_by_its_layers_and_kind() -> None:
    assert group_labels(SHAPE.to_dict()) == {0: "layers 0-29 (kv x30)"}
    assert group_labels({}) == {}


def test_spans_that_meet_in_time_and_place_lie_in_different_lanes(pair: Recording) -> None:
    laned = with_lanes(pair.spans)
    lanes = dict(laned.select("snapshot", "lane").iter_rows())
    # 1 is gone before 2, 3 and 4 come; 2 [0, 4) and 3 [4, 10) touch; 4 [4, 9) overlaps 3
    assert lanes == {1: 0, 2: 0, 3: 0, 4: 1}
    assert laned.get_column("died").null_count() == 0


def test_lanes_never_overlap(fifteen: Recording) -> None:
    rows = with_lanes(fifteen.spans).rows(named=True)
    for place, one in enumerate(rows):
        for other in rows[place + 1 :]:
            if one["snapshot"] == other["snapshot"] or (one["group"], one["lane"]) != (other["group"], other["lane"]):
                continue
            apart_in_time = one["died"] <= other["born"] or other["died"] <= one["born"]
            assert apart_in_time or one["end"] <= other["start"] or other["end"] <= one["start"]


def test_bars_and_end_ticks_over_one_dataset(pair: Recording) -> None:
    spec = specification(spans_chart(pair))
    assert marks(spec) == ["bar", "tick", "text"]
    assert sorted(row["snapshot"] for row in one_dataset(spec)) == [2, 3, 4]
    bars = next(units(spec))
    assert bars["encoding"]["fill"]["scale"]["domain"] == ["owned", "lazy", "view"]
    assert spec["vconcat"][0]["title"]["text"] == "layers 0-29 (kv x30)"


def test_with_a_moment_all_versions_are_sent_once(pair: Recording) -> None:
    spec = specification(spans_chart(pair, alt.param(name="at", value=3)))
    rows = one_dataset(spec)
    assert len(rows) == pair.spans.height
    assert max(row["died"] for row in rows) == FAR
    assert all("at < datum.died" in unit["transform"][0]["filter"] for unit in units(spec))


def test_spans_as_text(pair: Recording) -> None:
    end = pair.at(int(pair.events.item(-1, "seq")))
    lines = spans_text(end, SHAPE.to_dict()).splitlines()
    assert lines[1].split() == ["layers", "owned", "lazy", "view", "counted", "retained"]
    assert lines[2].split("  ")[0] == "layers 0-29 (kv x30)"
    assert lines[2].split(")")[1].split() == ["2", "1", "0", "10.00", "MiB", "10.00", "MiB"]
    assert "group 0 (kv)" in spans_text(end)


def test_no_spans(empty: Recording) -> None:
    assert png_size(static.png(spans_chart(empty)))[0] > 100


def test_a_group_without_a_shape_is_named_by_its_number(pair: Recording) -> None:
    nameless = type(pair)(pair.manifest, pair.events.with_columns(pl.col("group") + 3))
    spec = specification(spans_chart(nameless))
    assert spec["vconcat"][0]["title"]["text"] == "group 3 (kv)"
    assert spec["title"]["subtitle"] == "one lane a branch; hollow = lazy, 0 bytes"
