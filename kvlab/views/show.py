"""show: a recording, findings or a moment, in a notebook as rich output and in a terminal as text."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from kvlab.diagnose import Findings
from kvlab.recording import Recording
from kvlab.views.bytes_text import bytes_text
from kvlab.views.card import card
from kvlab.views.dashboard.widget import dashboard
from kvlab.views.mimebundle import text_form
from kvlab.views.spans_chart import spans_text
from kvlab.views.trie_outline import outline_text


def show(obj: Any, findings: Findings | None = None) -> None:
    """Show a Recording (as a dashboard), a Moment or Findings: rich inside a notebook, else as text on standard output.

    To read in Python what is chosen in a dashboard, keep it: `view = kvlab.stepper(recording)`.

    Args:
        obj: What to show.
        findings: Shown after a recording, its first verdict also in the card.
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
