from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvlab.models.tiny import ByteTokenizer
from kvlab.models.tokens import StreamDecoder, TableDecoder

BYTES = [bytes((byte,)) for byte in range(256)]


@given(st.text())
def test_a_decoder_gives_back_the_text_token_by_token(text: str) -> None:
    decoder = ByteTokenizer().decoder()
    pieces = [decoder.add(token) for token in ByteTokenizer().encode(text)]
    assert "".join(pieces) + decoder.finish() == text
    assert all("\ufffd" not in piece or "\ufffd" in text for piece in pieces)


def test_half_a_character_is_held_back() -> None:
    decoder = TableDecoder(BYTES)
    assert [decoder.add(byte) for byte in "é".encode()] == ["", "é"]
    assert decoder.finish() == ""


def test_what_never_becomes_a_character_is_shown_at_the_end() -> None:
    decoder = TableDecoder(BYTES)
    assert decoder.add("é".encode()[0]) == ""
    assert decoder.finish() == "\ufffd"


@pytest.mark.parametrize("token", [-1, 256])
def test_a_token_outside_the_table_stands_for_no_text(token: int) -> None:
    assert TableDecoder(BYTES).add(token) == ""


def test_a_streaming_detokenizer_of_mlx_lm_is_followed() -> None:
    class Held:
        """Releases text a token late, as mlx-lm's detokenizers may."""

        def __init__(self) -> None:
            self.held, self.last_segment = "", ""

        def add_token(self, token: int) -> None:
            self.held, self.last_segment = chr(token), self.held

        def finalize(self) -> None:
            self.held, self.last_segment = "", self.held

    decoder = StreamDecoder(Held())
    assert [decoder.add(ord(letter)) for letter in "abc"] == ["", "a", "b"]
    assert decoder.finish() == "c"
