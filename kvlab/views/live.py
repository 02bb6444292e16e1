"""The interactive form of a chart in JupyterLab: Altair's own widget, fed from this package, without a network.

Invariant: off until `%load_ext kvlab` turns it on, so that importing kvlab or showing an object changes nothing global.
A stored notebook has the PNG beside the widget, so it reads without a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, cast

import altair as alt
import polars as pl

from kvlab.views import theme
from kvlab.views.tables import moment_words


@dataclass(slots=True)
class Live:
    """Whether charts answer with a widget, and which theme and renderer were in use before."""

    on: bool = False
    theme: str = "default"
    renderer: str = "default"


LIVE = Live()

WIDGET = "application/vnd.jupyter.widget-view+json"

# Altair's own types are partial here, or narrower than what it takes
_ALTAIR: Any = alt


def turn_on() -> None:
    """Show charts as widgets from now on, drawn offline, with the kvlab theme."""
    if not LIVE.on:
        LIVE.theme, LIVE.renderer = alt.theme.active, alt.renderers.active
    alt.JupyterChart.enable_offline()
    alt.theme.enable(theme.NAME)
    alt.renderers.enable("jupyter", offline=True)
    LIVE.on = True


def turn_off() -> None:
    """Show charts as PNG and text only, with the theme and the renderer that were in use before."""
    if LIVE.on:
        _ALTAIR.theme.enable(LIVE.theme)
        alt.renderers.enable(LIVE.renderer)
    LIVE.on = False


def widget(chart: alt.TopLevelMixin) -> dict[str, Any]:
    """Return a chart's widget as a mime bundle; empty while widgets are off."""
    return _bundle(_chart(chart)) if LIVE.on else {}


def widget_in_time(chart: alt.TopLevelMixin, stops: pl.DataFrame) -> dict[str, Any]:
    """Return a chart with a slider over its parameter `at` as a mime bundle; empty while widgets are off.

    The specification is sent once; the slider sends one number. It is ipywidgets' own: JupyterLab takes the arrow keys away from any other.
    """
    if not LIVE.on or not stops.height:
        return widget(chart)
    widgets: Any = import_module("ipywidgets")
    drawn = _chart(chart)
    options = list(zip(moment_words(stops), stops.get_column("seq"), strict=True))
    slider = widgets.SelectionSlider(options=options, index=len(options) - 1, description="moment", readout=False, layout=widgets.Layout(width="520px"))
    words = widgets.Label(options[-1][0])

    def move(change: dict[str, Any]) -> None:
        drawn.params.at = change["new"]
        words.value = slider.label

    slider.observe(move, "value")
    return _bundle(widgets.VBox([widgets.HBox([slider, words]), drawn]))


def _chart(chart: alt.TopLevelMixin) -> Any:
    return _ALTAIR.JupyterChart(chart, embed_options={"actions": False})


def _bundle(made: Any) -> dict[str, Any]:
    # anywidget answers with a pair of data and metadata, ipywidgets with the data alone
    found = made._repr_mimebundle_()
    data = cast("dict[str, Any]", found[0] if isinstance(found, tuple) else found)
    return {WIDGET: data[WIDGET]}
