"""The interactive form of a chart in JupyterLab: Altair's own widget, fed from this package, without a network.

Invariant: off until `%load_ext kvlab` turns it on, so that importing kvlab or showing an object changes nothing global.
A stored notebook has the PNG beside the widget, so it reads without a kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt

from kvlab.views import theme
from kvlab.views.tables import moments


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


def slider(recording: Any) -> alt.Parameter:
    """Return the parameter `at` over the events of a recording, bound to a slider that the keyboard reaches."""
    seqs: list[int] = moments(recording).get_column("seq").to_list()
    first, last = (seqs[0], seqs[-1]) if seqs else (0, 0)
    return alt.param(name="at", value=last, bind=_ALTAIR.binding_range(min=first, max=last, step=1, name="event "))


def widget(chart: Any) -> dict[str, Any]:
    """Return a chart's widget as a mime bundle; empty while widgets are off.

    The specification is sent once; a slider in it changes a parameter in the browser only.
    """
    if not LIVE.on:
        return {}
    made = _ALTAIR.JupyterChart(chart, embed_options={"actions": False})
    data, _metadata = made._repr_mimebundle_()
    return {WIDGET: data[WIDGET]}
