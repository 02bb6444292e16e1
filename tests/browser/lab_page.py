"""A real JupyterLab in headless Chromium, as `kvlab bench views` uses it too; here a missing browser skips the test (which CI takes for a failure)."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser

from kvlab.studies import lab_browser
from kvlab.studies.lab_browser import LabPage, LabServer, lab_server
from kvlab.studies.machine import find_browser
from tests.house.tree import ROOT

__all__ = ["ROOT", "LabPage", "LabServer", "chromium", "lab_server"]


@contextmanager
def chromium() -> Generator[Browser]:
    """Start a headless Chromium."""
    if find_browser() is None:
        pytest.skip("Chromium is not installed: install the package chromium, or set KVLAB_CHROMIUM to its path")
    with lab_browser.chromium() as browser:
        yield browser
