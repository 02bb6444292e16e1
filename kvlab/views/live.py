"""The interactive form of a chart in JupyterLab: Altair's own widget, fed from this package, without a network.

Invariant: off until `%load_ext kvlab` turns it on, so that importing kvlab or showing an object changes nothing global.
A stored notebook has the PNG with the widget, so it reads without a kernel.
"""

from __future__ import annotations

import gzip
import zlib
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, cast

import altair as alt

from kvlab import cache_folder
from kvlab.errors import UnreadableInput
from kvlab.views import theme


@dataclass(slots=True)
class Live:
    """Whether charts answer with a widget, and which theme and renderer were in use before."""

    on: bool = False
    theme: str = "default"
    renderer: str = "default"


LIVE = Live()

SCRIPT = f"altair-{version('altair')}-vl-convert-{version('vl-convert-python')}-vega-lite-{alt.SCHEMA_VERSION}.js.gz"
"""The bundled script of Altair's widget in the cache folder; other versions have another one."""

WIDGET = "application/vnd.jupyter.widget-view+json"

# Altair's own types are partial here, or narrower than what it takes
_ALTAIR: Any = alt


def turn_on() -> None:
    """Show charts as widgets from now on, drawn offline, with the kvlab theme."""
    if not LIVE.on:
        LIVE.theme, LIVE.renderer = alt.theme.active, alt.renderers.active
    alt.theme.enable(theme.NAME)
    alt.renderers.enable("jupyter", offline=True)
    if cache_folder.place(SCRIPT, "charts").exists():
        # for charts of Altair's own too
        _offline()
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
    # bundles Vega when no process has before, which takes seconds: not before a chart is shown
    _offline()
    return _ALTAIR.JupyterChart(chart, embed_options={"actions": False})


def _offline() -> None:
    """Let Altair's widget work without a network: with the script in the cache folder, else with one that is bundled now and kept there."""
    kind = _ALTAIR.JupyterChart
    # Altair takes a script in no other way than through these two attributes
    if kind._is_offline:  # noqa: SLF001
        return

    def make(scratch: Path) -> Path:
        kind.enable_offline()
        # gzip's checksum finds a file that was cut short
        (scratch / SCRIPT).write_bytes(gzip.compress(kind._esm.encode()))  # noqa: SLF001
        return scratch / SCRIPT

    try:
        kept = cache_folder.once(SCRIPT, make, "charts").read_bytes()
        kind._esm, kind._is_offline = gzip.decompress(kept).decode(), True  # noqa: SLF001
    except (UnreadableInput, OSError, EOFError, zlib.error):
        # nothing can be kept there, or what was kept is damaged
        with suppress(OSError):
            cache_folder.place(SCRIPT, "charts").unlink()
        kind.enable_offline()


def bundle(made: Any) -> dict[str, Any]:
    """Return a widget's own part of a mime bundle."""
    # anywidget answers with a pair of data and metadata, ipywidgets with the data alone
    found = made._repr_mimebundle_()
    data = cast("dict[str, Any]", found[0] if isinstance(found, tuple) else found)
    return {WIDGET: data[WIDGET]}
