"""Looks into Vega-Lite specifications."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import altair as alt

from kvlab.views import theme

PNG = b"\x89PNG\r\n\x1a\n"


def specification(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return the specification after a round trip through JSON, as a browser gets it."""
    made = theme.spec(chart)
    assert json.loads(json.dumps(made)) == made
    return made


def units(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the parts that draw one mark each."""
    if "mark" in spec:
        yield spec
    for key in ("layer", "hconcat", "vconcat", "concat"):
        for part in spec.get(key, []):
            yield from units(part)


def marks(spec: dict[str, Any]) -> list[str]:
    return [unit["mark"]["type"] for unit in units(spec)]


def one_dataset(spec: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the only dataset."""
    (rows,) = spec["datasets"].values()
    return rows


def png_size(image: bytes) -> tuple[int, int]:
    assert image.startswith(PNG)
    return int.from_bytes(image[16:20], "big"), int.from_bytes(image[20:24], "big")
