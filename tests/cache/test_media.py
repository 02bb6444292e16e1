"""Upstream scenarios 69 and 70: what stands for a media item in the keys, and where a chunk may end."""

from __future__ import annotations

import numpy as np
import pytest

from kvlab.cache.media import clear_edge, folded, media_fold
from kvlab.trie import to_keys
from kvlab.trie.keys import width_of
from kvlab.workloads.request import MediaItem

FNV_1A = {b"": 0xCBF29CE484222325, b"a": 0xAF63DC4C8601EC8C, b"foobar": 0x85944171F73967E8}
"""64-bit FNV-1a test vectors as its authors publish them."""

LAST = 99
"""The last token of a prompt of 100: it is held back, so no chunk goes past it."""


@pytest.mark.parametrize("raw", FNV_1A)
def test_69_a_fold_joins_the_halves_of_the_hash(raw: bytes) -> None:
    want = FNV_1A[raw]
    assert media_fold(raw, []) == ((want >> 32) ^ (want & 0xFFFFFFFF)) | 0x80000000


def test_69_a_fold_depends_on_bytes_and_sizes() -> None:
    image = bytes(range(200))
    assert media_fold(image, (448, 448)) == media_fold(image, [448, 448])
    assert len({media_fold(image, dims) for dims in ((448, 448), (448, 336), (336, 448), (448,), ())}) == 5
    assert media_fold(image, (448,)) != media_fold(image[:-1] + b"\0", (448,))
    # a size is hashed as eight little-endian bytes
    assert media_fold(image, (0x0102,)) == media_fold(image + b"\x02\x01" + bytes(6), ())
    assert all(2**31 <= media_fold(bytes([one]), (one,)) < 2**32 for one in range(256))


@pytest.mark.parametrize("look_ahead", [0, 1])
def test_69_prompts_with_different_images_differ_over_the_item(look_ahead: int) -> None:
    tokens, start, end = [5, 6, 0, 0, 0, 7, 8], 2, 5
    keys = [
        np.frombuffer(to_keys(folded(tokens, [MediaItem(start, end, media_fold(raw, (448, 448)))]), look_ahead), dtype=f"i{width_of(look_ahead)}")
        for raw in (b"a cat", b"a dog")
    ]
    differs = np.flatnonzero(keys[0] != keys[1]).tolist()
    assert differs == list(range(start - look_ahead, end))


@pytest.mark.parametrize(
    ("at", "edge", "want"),
    [
        # it ends where it would when no item is cut
        (0, 32, 32),
        (0, 40, 40),
        (0, 60, 60),
        (60, 92, 92),
        # an item that begins inside the chunk is left whole to the next one
        (0, 41, 40),
        (0, 59, 40),
        (39, 50, 40),
        # an item that begins the chunk is taken whole
        (40, 50, 60),
    ],
)
def test_70_a_chunk_does_not_end_inside_a_whole_item(at: int, edge: int, want: int) -> None:
    assert clear_edge([MediaItem(10, 20, 2**31), MediaItem(40, 60, 2**31)], at, edge, LAST) == want


def test_70_a_chunk_never_goes_past_the_held_back_token() -> None:
    assert clear_edge([MediaItem(80, 100, 2**31)], 80, 90, LAST) == LAST


@pytest.mark.parametrize("edge", range(41, 60))
def test_70_a_causal_item_is_split_anywhere(edge: int) -> None:
    assert clear_edge([MediaItem(40, 60, 2**31, whole=False)], 0, edge, LAST) == edge
