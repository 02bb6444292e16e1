"""Requests as a waterfall: what their tokens are, seconds only where there are any, letters beside colours."""

from __future__ import annotations

from typing import Any

import pytest

from kvlab.events import ChunkRan, Matched, RequestBegan, RequestClosed
from kvlab.recording import Recording
from kvlab.units import MIB
from kvlab.views import letters, theme
from kvlab.views.bytes_chart import STACK, drawn_owners
from kvlab.views.tables import readings
from kvlab.views.waterfall_chart import NONE, PHASES, SORTS, phases_table, prompts_table, waterfall_chart, waterfall_text
from tests.views.charts import specification, units
from tests.views.conftest import Script
from tests.views.test_theme import contrast


def cancelled(**changes: Any) -> Recording:
    """One prompt of 54 tokens of which 10 were restored and 12 matched, cancelled when 3 more had run."""
    script = Script()
    script.log.request = 1
    script.add(RequestBegan(tokens=54), Matched(tokens=54, matched=12, cached=10, left=44), ChunkRan(start=10, end=13))
    script.read("prefill")
    script.read("close")
    script.add(RequestClosed(stop="cancelled", prefill_s=0.1))
    return script.recording(**changes)


def test_a_cancelled_prompt_shows_what_ran() -> None:
    cut = prompts_table(cancelled()).select("sort", "start", "end").rows()
    assert cut == [("restored", 0, 10), ("evaluated again", 10, 12), ("new", 12, 13), ("not evaluated", 13, 54)]
    text = waterfall_text(cancelled()).splitlines()
    assert text[1].split()[:9] == ["1", "54", "12", "10", "44", "3", "0", "cancelled", NONE]
    assert "cancelled: 1" in specification(waterfall_chart(cancelled()))["title"]["subtitle"]


def test_a_twin_has_events_and_no_seconds(pair: Recording) -> None:
    assert "a twin has no seconds" in waterfall_text(cancelled(source="twin"))
    told = [str(unit["encoding"].get("x", {}).get("title")) for unit in units(specification(waterfall_chart(cancelled(source="twin"))))]
    assert "events since it began" in told
    assert "ms since it began" not in told
    # begun with event 0, read at 3 and 4: whole events
    assert phases_table(cancelled(source="twin")).select("phase", "start", "end").rows() == [("prefill", 0, 3), ("close", 3, 4)]
    assert "250.0" in waterfall_text(pair)


def test_a_moment_shows_nothing_of_the_future(pair: Recording) -> None:
    """Right after request 2 began it is neither matched nor has it a phase."""
    began = pair.events.filter(kind="request_began", request=2).item(0, "seq")
    rows = [row for rows in specification(waterfall_chart(pair, began))["datasets"].values() for row in rows]
    assert {row["request"] for row in rows} == {1}


@pytest.mark.parametrize("colour", sorted({*theme.STATES.values(), *PHASES.values(), *SORTS.values()} - {"transparent"}))
def test_letters_read_on_every_fill(colour: str) -> None:
    assert contrast(theme.CORE, colour) >= 3


def test_letters_stand_only_in_bars_with_room() -> None:
    table = prompts_table(cancelled())
    drawn = letters.lettered(table, "sort", {"restored": "R", "new": "N"}, 2.0, hollow=["not evaluated"])
    # 10 tokens are 20 pixels, 1 token is 2
    assert drawn.get_column("letter").to_list() == ["R", "", "", ""]
    assert drawn.get_column("ink").to_list() == [theme.CORE] * 3 + [theme.INK]


@pytest.mark.parametrize(("pool", "owners"), [(2 * MIB, STACK), (9 * MIB, STACK[:-1])])
def test_a_pool_that_would_press_the_rest_flat_is_named(pool: int, owners: tuple[str, ...]) -> None:
    script = Script()
    script.log.request = 1
    script.read("close", live=MIB, snapshots=2 * MIB, pool=pool)
    assert drawn_owners(readings(script.recording())) == owners
