"""A real JupyterLab in headless Chromium, as the bench `views` uses it too; here a missing browser skips the test (which CI takes for a failure)."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser

from kvlab.studies.machine import find_browser
from tests.bench import lab_browser
from tests.bench.lab_browser import FAILED, LabServer, lab_server
from tests.house.tree import ROOT

__all__ = ["ROOT", "LabPage", "LabServer", "chromium", "lab_server"]

RUN = """() => {
  window.kvlabRan = null;
  const note = (ok, error) => { window.kvlabRan = {ok, error}; };
  window.jupyterapp.commands.execute('notebook:run-all-cells').then(ok => note(ok, ''), error => note(false, String(error)));
}"""

# every output that holds a picture: is one drawn, with a size?
PICTURES = """() => {
  const found = [];
  window.jupyterapp.shell.currentWidget.content.widgets.forEach((cell, number) => {
    if (cell.model.type !== 'code') return;
    for (let i = 0; i < cell.model.outputs.length; i++) {
      const types = Object.keys(cell.model.outputs.get(i).data);
      if (!types.includes('image/png') && !types.includes('image/svg+xml')) continue;
      const drawn = [...cell.outputArea.widgets[i].node.querySelectorAll('img, canvas, svg')].filter(it => {
        const box = it.getBoundingClientRect();
        return box.width > 20 && box.height > 20 && (it.tagName !== 'IMG' || it.naturalWidth > 0);
      });
      found.push({cell: number, types, drawn: drawn.map(it => it.tagName.toLowerCase())});
    }
  });
  return found;
}"""


@contextmanager
def chromium() -> Generator[Browser]:
    """Start a headless Chromium."""
    if find_browser() is None:
        pytest.skip("Chromium is not installed: install the package chromium, or set KVLAB_CHROMIUM to its path")
    with lab_browser.chromium() as browser:
        yield browser


class LabPage(lab_browser.LabPage):
    """A notebook open in JupyterLab, with what only tests ask of it: all cells at once, themes, what is drawn."""

    def run_all(self, within_s: float = 300) -> list[str]:
        """Run all cells as the menu does; return the errors of cells."""
        self.page.evaluate(RUN)
        self.page.wait_for_function("() => window.kvlabRan !== null", timeout=within_s * 1000)
        ran = self.page.evaluate("() => window.kvlabRan")
        errors: list[str] = self.page.evaluate(FAILED)
        return errors if errors or ran["ok"] else [f"JupyterLab did not run all cells: {ran}"]

    def theme(self, name: str) -> None:
        """Switch JupyterLab's theme, such as `JupyterLab Dark`, and wait until it is there."""
        self.page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", name)
        self.page.wait_for_function("name => document.body.dataset.jpThemeName === name", arg=name)

    def pictures(self, within_s: float = 30) -> list[dict[str, Any]]:
        """Return a row an output that holds a picture ({cell, types, drawn}); waits while one is not drawn yet."""
        deadline = time.monotonic() + within_s
        while True:
            found: list[dict[str, Any]] = self.page.evaluate(PICTURES)
            if all(it["drawn"] for it in found) or time.monotonic() > deadline:
                return found
            # the page's own clock: its events must go on meanwhile
            self.page.wait_for_timeout(100)

    def cell(self, number: int) -> Any:
        """Return the locator of the cell `number`, from 0, Markdown cells included."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(number)
