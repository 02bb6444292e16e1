"""How rich objects show themselves: text always, a PNG where there is something to draw, a widget after `%load_ext kvlab`.

Invariants: no `text/html` with a PNG, since a stored notebook without a kernel would show it instead (the cards of twins and findings have no PNG);
whatever goes wrong while drawing, the cell goes on: the text says what failed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import altair as alt

from kvlab.findings import Findings, diagnose
from kvlab.lab import Twin
from kvlab.recording import Moment, Recording
from kvlab.views import live, static
from kvlab.views.bytes_chart import bytes_chart
from kvlab.views.card import bytes_text, card
from kvlab.views.compare.chart import comparison_chart
from kvlab.views.compare.comparison import Comparison
from kvlab.views.compare.widget import view
from kvlab.views.dashboard.still import Still, chart
from kvlab.views.dashboard.widget import dashboard
from kvlab.views.finding_cards import cards_html
from kvlab.views.outside import outside_chart, outside_text
from kvlab.views.shape_card import shape_card, shape_card_html
from kvlab.views.spans_chart import spans_text
from kvlab.views.trie_outline import moment_chart, outline_text
from kvlab.visible_text import visible

Form = tuple[Callable[[], str], Callable[[], alt.TopLevelMixin] | None, Callable[[], dict[str, Any]] | None]
"""An object's text, its still chart and its widget (None: the object has no such form)."""


def mimebundle(obj: Any) -> dict[str, Any]:
    """Return {mime type: data} of a Recording, a Moment, Findings, a Twin or a Comparison; of anything else its `repr`."""
    text, still, moving = _form(obj)
    failed: list[str] = []
    bundle: dict[str, Any] = {"text/plain": visible(_attempt(text, failed) or repr(obj))}
    if still is not None and (image := _attempt(lambda: static.png(still()), failed)):
        bundle["image/png"] = image
    for kind, make in _PAGES:
        if isinstance(obj, kind) and (page := _attempt(lambda make=make: make(obj), failed)):
            bundle["text/html"] = page
    if moving is not None and live.LIVE.on:
        bundle |= _attempt(moving, failed) or {}
    if failed:
        bundle["text/plain"] += "".join(f"\n(not drawn: {reason})" for reason in failed)
    return bundle


def text_form(obj: Any) -> str:
    """Return the text of `mimebundle(obj)`, without drawing anything."""
    return _form(obj)[0]()


def _form(obj: Any) -> Form:
    return next((form(obj) for kind, form in _FORMS if isinstance(obj, kind)), (lambda: repr(obj), None, None))


def _together(recording: Recording) -> dict[str, Any]:
    """Return the dashboard at the recording's last moment."""
    return live.bundle(dashboard(recording))


def _attempt(make: Callable[[], Any], failed: list[str]) -> Any:
    try:
        return make()
    except Exception as error:  # noqa: BLE001  # a renderer that fails must not take the cell's result with it
        failed.append(f"{type(error).__name__}: {error}")
        return None


def _recording(obj: Recording) -> Form:
    if obj.manifest.source == "probe":
        return lambda: card(obj, diagnose(obj)) + "\n\n" + outside_text(obj), lambda: outside_chart(obj), lambda: live.widget(outside_chart(obj))
    return lambda: card(obj, diagnose(obj)) + "\n\n" + bytes_text(obj), lambda: bytes_chart(obj), lambda: _together(obj)


def _still(obj: Still) -> Form:
    return lambda: obj.words, (lambda: chart(obj.recording, obj.at)) if obj.recording.count else None, None


_FORMS: tuple[tuple[type, Callable[[Any], Form]], ...] = (
    (Recording, _recording),
    (Moment, lambda obj: (lambda: outline_text(obj), lambda: moment_chart(obj), lambda: live.widget(moment_chart(obj)))),
    (Findings, lambda obj: (lambda: obj.text(figures=True), None, None)),
    (Twin, lambda obj: (lambda: shape_card(obj), None, None)),
    (Comparison, lambda obj: (obj.text, lambda: comparison_chart(obj), lambda: live.bundle(view(obj)))),
    (Still, _still),
)
"""What each kind of object is shown as; anything else is its `repr`."""

_PAGES: tuple[tuple[type, Callable[[Any], str]], ...] = ((Twin, shape_card_html), (Findings, cards_html))
"""The kinds that have a card as HTML, and no picture."""


def show(obj: Any, findings: Findings | None = None) -> None:
    """Show a Recording (as a dashboard), a Moment or Findings: rich inside a notebook, else as text on standard output.

    To read in Python what is chosen in a dashboard, keep it: `view = kvlab.stepper(recording)`.

    Args:
        obj: What to show.
        findings: Shown after a recording, its first verdict also in the card.

    Example:
        >>> import kvlab
        >>> recording = kvlab.twin("smollm2").run("unrelated:2", progress=False)
        >>> kvlab.show(recording.at(0))
        trie after event 0, in request 0: 1 node, 0 B counted; * = active path
        ...
    """
    if in_notebook():
        shown: Any = import_module("IPython.display")
        # a dashboard whatever is loaded: it was requested by name
        first = dashboard(obj) if isinstance(obj, Recording) else obj
        shown.display(*(item for item in (first, findings) if item is not None))
        return
    sys.stdout.write(as_text(obj, findings) + "\n")


def as_text(obj: Any, findings: Findings | None = None) -> str:
    """Return what `show` writes to a terminal."""
    if not isinstance(obj, Recording):
        return text_form(obj)
    parts = [card(obj, findings), bytes_text(obj)]
    if obj.count:
        end = obj.at(obj.last)
        parts += [outline_text(end), spans_text(end, obj.manifest.shape)]
    return "\n\n".join([*parts, findings.text(figures=True)] if findings is not None else parts)


def in_notebook() -> bool:
    """Whether this process is a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")
