"""The dashboard's page in a browser, with nothing behind it: its code, a dataset, and what it tells Python."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page

from kvlab.recording import Recording
from kvlab.views.dashboard import page as code
from kvlab.views.dashboard.dataset import dataset_of


def load(page: Page, shown: Recording | dict[str, Any], **choices: Any) -> None:
    """Load the page's code, and the dataset as `store`; a recording becomes a dataset under `choices`."""
    data = dataset_of(shown, **choices).whole() if isinstance(shown, Recording) else shown
    page.set_content(f"<style>{code.style()} body {{ margin: 0 }}</style><div id=root></div><script>{code.parts()}</script>")
    page.evaluate("data => { window.store = new Store(data); }", json.loads(json.dumps(data)))


def mount(page: Page, shown: Recording | dict[str, Any], *, at: str = "end", **choices: Any) -> None:
    """Draw the dashboard as `view`, opened at its `start` or `end`; what it tells Python is kept in `heard`."""
    load(page, shown, **choices)
    page.evaluate(
        """at => {
          window.heard = [];
          window.view = mountDashboard(document.getElementById("root"), store, { opensAt: at, selected: (node, band) => heard.push({ node, band }) });
        }""",
        at,
    )
