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
    """Whether charts answer with a widget."""

    on: bool = False


LIVE = Live()


def turn_on() -> None:
    """Show charts as widgets from now on, drawn offline, with the kvlab theme."""
    alt.JupyterChart.enable_offline()
    alt.theme.enable(theme.NAME)
    alt.renderers.enable("jupyter", offline=True)
    LIVE.on = True


def turn_off() -> None:
    """Show charts as PNG and text only, with Altair's own theme and renderer."""
    alt.theme.enable("default")
    alt.renderers.enable("default")
    LIVE.on = False


def slider(recording: Any) -> alt.Parameter:
    """Return the parameter `at` over the events of a recording, bound to a slider that the keyboard reaches."""
    seqs: list[int] = moments(recording).get_column("seq").to_list()
    first, last = (seqs[0], seqs[-1]) if seqs else (0, 0)
    return alt.param(name="at", value=last, bind=alt.binding_range(min=first, max=last, step=1, name="event "))


def widget(chart: Any) -> dict[str, Any]:
    """Return a chart's widget as a mime bundle; empty while widgets are off.

    The specification is sent once; a slider in it changes a parameter in the browser only.
    """
    if not LIVE.on:
        return {}
    with alt.data_transformers.disable_max_rows():
        made: Any = alt.JupyterChart(chart, embed_options={"actions": False})
    bundle: Any = made._repr_mimebundle_()  # noqa: SLF001  # the one way to take a widget's bundle
    data: dict[str, Any] = bundle[0] if isinstance(bundle, tuple) else bundle
    return {mime: value for mime, value in data.items() if mime.startswith("application/vnd.jupyter.widget")}
