"""The interactive form of a chart in JupyterLab: Altair's own widget, fed from this package, without a network.

Invariant: off until `%load_ext kvlab` turns it on, so that importing kvlab or showing an object changes nothing global.
A stored notebook has the PNG with the widget, so it reads without a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import altair as alt

from kvlab.views import theme


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
    return bundle(_chart(chart)) if LIVE.on else {}


def _chart(chart: alt.TopLevelMixin) -> Any:
    # bundles Vega once a process, which takes a second: not before a chart is shown
    alt.JupyterChart.enable_offline()
    return _ALTAIR.JupyterChart(chart, embed_options={"actions": False})


def bundle(made: Any) -> dict[str, Any]:
    """Return a widget's own part of a mime bundle."""
    # anywidget answers with a pair of data and metadata, ipywidgets with the data alone
    found = made._repr_mimebundle_()
    data = cast("dict[str, Any]", found[0] if isinstance(found, tuple) else found)
    return {WIDGET: data[WIDGET]}
