"""Colours, one legend for each kind of thing, and the Altair theme: readable in light and dark, and without colour.

Invariants: every colour here has a contrast of at least 3:1 against white and against #111 (WCAG 1.4.11; tests compute it).
Colour is never the only sign: lazy spans are hollow, the active path has a frame, lines differ by their dashes, and each is named in words.
The hues are those of Okabe and Ito (2008), without the ones that are too pale for white paper; ochre is ColorBrewer's (Dark2).
"""

from __future__ import annotations

from typing import Any

import altair as alt

BLUE = "#0072B2"
VERMILLION = "#D55E00"
GREEN = "#009E73"
PURPLE = "#CC79A7"
OCHRE = "#A6761D"
GREY = "#767676"
INK = "#808080"
"""Text, axes and frames: the grey that reads on both papers."""

CORE = "#1a1a1a"
HALO = "#ffffff"
"""Lines that cross coloured areas are dark within a white halo: one of the two shows on any ground."""

OWNERS: dict[str, str] = {"weights": GREY, "snapshots": GREEN, "live": BLUE, "unattributed": VERMILLION, "pool": PURPLE}
"""Who holds bytes."""

KINDS: dict[str, str] = {"kv": BLUE, "rotating": GREEN, "recurrent": VERMILLION, "draft_kv": PURPLE, "stateless": GREY, "hidden": OCHRE}
"""The layer kinds."""

STATES: dict[str, str] = {"live": BLUE, "owned": GREEN, "view": VERMILLION, "lazy": PURPLE, "missing": GREY}
"""What a span is: in the live buffer, its own copy, sharing a bigger buffer, an index of 0 bytes, or not there."""

HOLLOW = ("lazy", "missing")
"""States that hold no bytes of their own: drawn as outlines."""

NAME = "kvlab"


def scale(colours: dict[str, str]) -> alt.Scale:
    """Return the colour scale of one of the palettes above, in its order."""
    return alt.Scale(domain=list(colours), range=list(colours.values()))


def span_fill(states: list[str], title: str, legend: alt.Legend) -> alt.Fill:
    """Return the fill of spans by their column `state`; together with `span_stroke` it makes one legend."""
    colours = ["transparent" if state in HOLLOW else STATES[state] for state in states]
    return alt.Fill("state:N", title=title, scale=alt.Scale(domain=states, range=colours), legend=legend)


def span_stroke(states: list[str], title: str, legend: alt.Legend) -> alt.Stroke:
    """Return the outline of spans by their column `state`."""
    return alt.Stroke("state:N", title=title, scale=alt.Scale(domain=states, range=[STATES[state] for state in states]), legend=legend)


def config(ink: str = INK) -> dict[str, Any]:
    """Return the Vega-Lite config: transparent ground, `ink` for all text and axes, quiet grids."""
    text = {"labelColor": ink, "titleColor": ink}
    return {
        "background": "transparent",
        "view": {"stroke": None, "continuousWidth": 560, "continuousHeight": 240},
        "axis": text
        | {"domainColor": ink, "tickColor": ink, "gridColor": ink, "gridOpacity": 0.2, "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal"},
        "legend": text | {"symbolStrokeColor": ink, "labelFontSize": 11, "titleFontSize": 11, "titleFontWeight": "normal", "orient": "top"},
        "header": text,
        "title": {"color": ink, "subtitleColor": ink, "anchor": "start", "fontSize": 13, "subtitleFontSize": 11, "offset": 8},
        "text": {"color": ink, "fontSize": 11},
        "rule": {"color": ink},
    }


def nothing(words: str) -> alt.Chart:
    """Return a chart that only says why there is nothing to draw."""
    return alt.Chart(alt.Data(values=[{"words": words}]), width=420, height=24).mark_text(align="left").encode(x=alt.value(0), text="words:N")


@alt.theme.register(NAME, enable=False)
def kvlab_theme() -> alt.theme.ThemeConfig:
    """The theme, registered under `NAME` and enabled by nobody but `%load_ext kvlab` and the functions of static.py."""
    return alt.theme.ThemeConfig(config=config())  # pyright: ignore[reportArgumentType]


def spec(chart: alt.TopLevelMixin, ink: str = INK) -> dict[str, Any]:
    """Return a chart as a Vega-Lite specification with the theme in it."""
    with alt.theme.enable(NAME):
        made: dict[str, Any] = chart.to_dict()
    made["config"] = config(ink)
    return made
