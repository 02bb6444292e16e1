"""The static twin of a chart: a PNG, made offline by vl-convert from the same specification."""

from __future__ import annotations

import struct
import zlib

import altair as alt
import vl_convert

from kvlab.views import theme

SCALE = 1.5
"""Pixels of the PNG for each pixel of the chart."""

VEGALITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
"""The version of Vega-Lite that Altair writes, as vl-convert names it."""


_SIGNATURE = b"\x89PNG\r\n\x1a\n"


def png(chart: alt.TopLevelMixin, scale: float = SCALE) -> bytes:
    """Return the chart as a PNG with a transparent ground, `scale` pixels for each of the chart's."""
    return smaller(vl_convert.vegalite_to_png(theme.spec(chart), vl_version=VEGALITE, scale=scale))


def smaller(image: bytes) -> bytes:
    """Return the same PNG with its pixels compressed as far as zlib goes: about a quarter of what vl-convert writes."""
    chunks: list[tuple[bytes, bytes]] = []
    place = len(_SIGNATURE)
    while place < len(image):
        length, kind = struct.unpack_from(">I4s", image, place)
        chunks.append((kind, image[place + 8 : place + 8 + length]))
        place += 12 + length
    pixels = zlib.compress(zlib.decompress(b"".join(data for kind, data in chunks if kind == b"IDAT")), 9)
    before_end = [chunk for chunk in chunks if chunk[0] not in (b"IDAT", b"IEND")]
    return _SIGNATURE + b"".join(_chunk(*chunk) for chunk in (*before_end, (b"IDAT", pixels), (b"IEND", b"")))


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
