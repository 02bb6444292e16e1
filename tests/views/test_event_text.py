from __future__ import annotations

from kvlab.events import Allocated, BytesRead, ChunkRan, Loaded, Matched, NodeBorn, TokenOut
from kvlab.units import MIB
from kvlab.views.event_text import event_text


def test_fields_that_say_something() -> None:
    assert (
        event_text(NodeBorn(seq=5, t=1.5, request=1, node=3, parent=2, start=4, end=9, user=True))
        == "   5  node_born        node=3 parent=2 start=4 end=9 user=True"
    )
    assert event_text(Matched(seq=4, tokens=9, left=9, reason="nothing_shared")) == "   4  matched          tokens=9 left=9 reason=nothing_shared"


def test_the_root_and_no_node() -> None:
    assert event_text(NodeBorn()) == "  -1  node_born        node=0 start=0 end=0"
    assert event_text(Allocated(seq=1, owner="live", retained=MIB)) == "   1  allocated        owner=live retained=1.00\u00a0MiB"


def test_bytes_have_a_unit() -> None:
    assert event_text(BytesRead(seq=7, phase="close", live=11 * MIB)) == "   7  bytes_read       phase=close live=11.00\u00a0MiB"


def test_no_seconds() -> None:
    assert event_text(ChunkRan(seq=8, start=0, end=5, seconds=0.25)) == "   8  chunk_ran        start=0 end=5"


def test_text_is_quoted() -> None:
    assert event_text(TokenOut(seq=9, token=12, text=" Paris")) == "   9  token_out        token=12 text=' Paris'"


def test_bytes_that_others_hold_have_their_unit() -> None:
    assert event_text(Loaded(seq=3, weights=MIB, outside=8)) == "   3  loaded           weights=1.00\u00a0MiB outside=8\u00a0B"
