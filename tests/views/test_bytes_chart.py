from __future__ import annotations

from typing import TYPE_CHECKING

import altair as alt

from kvlab.events import BytesRead
from kvlab.policy import Policy
from kvlab.units import MIB
from kvlab.views import static
from kvlab.views.bytes_chart import COUNTED, GROWN, HELD, PREDICTED, STACK, bytes_chart
from kvlab.views.card import bytes_text
from kvlab.views.dashboard import still
from tests.views.charts import marks, one_dataset, png_size, specification, units
from tests.views.conftest import WEIGHTS, Script

if TYPE_CHECKING:
    from kvlab.recording import Recording


def test_areas_lines_and_diamonds_over_one_dataset(pair: Recording) -> None:
    spec = specification(bytes_chart(pair))
    assert marks(spec) == ["area", *["text"] * 4, "line", "line", "point", "text"]
    assert len(one_dataset(spec)) == 4 + 1
    area = next(units(spec))
    assert area["encoding"]["color"]["scale"]["domain"] == list(STACK)
    assert area["encoding"]["y"]["stack"] == "zero"
    assert area["encoding"]["y"]["title"] == "MiB"


def test_rows_are_in_the_unit_of_the_axis(pair: Recording) -> None:
    rows = one_dataset(specification(bytes_chart(pair)))
    assert [row["snapshots"] for row in rows] == [0, 0, 10, 10, 10]
    assert [row["live"] for row in rows] == [0, 16, 16, 16, 16]
    assert [row["unattributed"] for row in rows] == [0, 0, 0, 1, 1]
    assert [row["budget"] for row in rows] == [20] * 5
    assert [row[COUNTED] for row in rows] == [0, 0, 10, 10, 10]
    assert [row[PREDICTED] for row in rows if row["middle"] is not None] == [10]
    assert [row["x"] for row in rows] == [-0.5, 0.5, 1.0, 1.5, 2.5]


def test_the_title_says_what_is_not_drawn(pair: Recording) -> None:
    title = specification(bytes_chart(pair))["title"]
    assert title["text"].endswith("in MiB")
    assert title["subtitle"] == "weights 513.00 MiB lie below and are not drawn"


def test_the_budget_line_is_labelled(pair: Recording) -> None:
    *_, label = units(specification(bytes_chart(pair)))
    assert label["encoding"]["text"]["value"] == "budget 20.00 MiB"


def test_a_budget_far_above_is_named_instead_of_drawn() -> None:
    script = Script(budget=Policy().budget_bytes)
    script.log.request = 1
    script.read("close", live=1, snapshots=1)
    spec = specification(bytes_chart(script.recording()))
    assert "budget 8.00 GiB is far above" in spec["title"]["subtitle"]
    assert not any("budget" in str(unit["encoding"].get("text")) for unit in units(spec))


def test_a_moment_is_marked_by_a_rule(pair: Recording) -> None:
    spec = specification(bytes_chart(pair, alt.param(name="at", value=7)))
    assert marks(spec)[-1] == "rule"
    assert [param["name"] for param in spec["params"]] == ["at"]


def test_no_readings(empty: Recording) -> None:
    assert png_size(static.png(bytes_chart(empty)))[0] > 100
    assert bytes_text(empty).startswith("bytes at each request's end, in B; weights 0 B, budget 0 B")


def test_more_than_five_thousand_readings() -> None:
    script = Script()
    for request in range(1, 5200):
        script.log.request = request
        script.read("close", live=1024, snapshots=2048)
    rows = one_dataset(specification(bytes_chart(script.recording())))
    assert len(rows) <= 2001
    assert rows[-1]["request"] == 5199


def test_the_table_of_text(pair: Recording) -> None:
    lines = bytes_text(pair).splitlines()
    assert lines[0] == "bytes at each request's end, in MiB; weights 513.00 MiB, budget 20.00 MiB"
    assert lines[1].split() == ["request", "label", "counted", "predicted", "snapshots", "live", "unattributed", "pool", "active"]
    assert lines[2].split() == ["1", "first", "10.00", "10.00", "10.00", "16.00", "0.00", "1.00", "539.00"]
    assert lines[3].split() == ["2", "<b>&second", "10.00", "-", "10.00", "16.00", "1.00", "0.00", "540.00"]


def test_a_long_table_of_text_keeps_its_ends(fifteen: Recording) -> None:
    lines = bytes_text(fifteen, most=5).splitlines()[2:]
    assert [line.split()[0] for line in lines] == ["1", "2", "…", "14", "15"]


def test_the_picture(pair: Recording) -> None:
    width, height = png_size(static.png(bytes_chart(pair), scale=1))
    assert width > 720
    assert height > 270


def with_footprint() -> Recording:
    """The process's footprint is 900 MiB at load, 930 MiB after request 1, not read in request 2, and 1,000 MiB after request 3."""
    script = Script()
    footprints = {0: 900, 1: 930, 3: 1000}
    for request in range(4):
        script.log.request = request
        script.add(
            BytesRead(
                phase="close" if request else "load",
                weights=WEIGHTS,
                live=16 * MIB,
                active=WEIGHTS + 18 * MIB,
                unattributed=2 * MIB,
                budget=20 * MIB,
                footprint=footprints[request] * MIB if request in footprints else None,
            )
        )
    return script.recording()


def test_the_footprint_is_a_line_of_its_own() -> None:
    recording = with_footprint()
    spec = specification(bytes_chart(recording))
    rows = one_dataset(spec)
    assert [row[GROWN] for row in rows] == [0, 30, 30, 100, 100]
    assert [row[HELD] for row in rows] == [18] * 5
    line = next(unit for unit in units(spec) if unit["mark"]["type"] == "line" and "strokeDash" in unit["encoding"])
    scale = line["encoding"]["strokeDash"]["scale"]
    dashes = dict(zip(scale["domain"], map(tuple, scale["range"]), strict=True))
    assert set(dashes) == {"budget", COUNTED, HELD, GROWN}
    assert len(set(dashes.values())) == 4
    # cut off at three times what the cache holds: 18 MiB
    assert line["encoding"]["y"]["scale"]["domain"] == [0, 1.08 * 3 * 18]
    assert "footprint of the process 1000.00 MiB" in spec["title"]["subtitle"]
    assert "footprint of the process 1000.00 MiB" in spec["description"]
    assert "footprint of the process 930.00 MiB" in still.text(recording, 2, "")
    titles, *told = bytes_text(recording).splitlines()[1:]
    assert titles.split()[-1] == "footprint"
    assert [row.split()[-1] for row in told] == ["930.00", "-", "1000.00"]


def test_without_a_footprint_nothing_is_said_of_one(pair: Recording) -> None:
    spec = specification(bytes_chart(pair))
    assert "footprint" not in str(spec["title"]) + spec["description"] + bytes_text(pair)
    line = next(unit for unit in units(spec) if unit["mark"]["type"] == "line" and "strokeDash" in unit["encoding"])
    assert GROWN not in line["encoding"]["strokeDash"]["scale"]["domain"]
