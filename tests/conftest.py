"""What holds for every test: in CI a skip is a failure, hypothesis knows no deadline, and the embedded model is fetched once."""

from __future__ import annotations

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

from kvlab.lab.lab import Lab, open_lab

IN_CI = os.environ.get("CI") == "true"

ELSEWHERE = ("needs macOS", "needs Apple silicon")
"""Reasons for which a test may be skipped in CI: they name a platform that CI is not."""

# a slow machine is no defect; in CI the same examples run each time, elsewhere new ones are tried
settings.register_profile("kvlab", deadline=None, derandomize=IN_CI, print_blob=True)
settings.load_profile("kvlab")


@pytest.fixture(scope="session")
def embedded_model() -> Path:
    """The file of SmolLM2, fetched on first use: tests that allow no network ask for this first."""
    from kvlab.models.fetch import fetch
    from kvlab.models.known import KNOWN

    return fetch(KNOWN["smollm2"].file)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn a skipped test into a failed one."""
    del item, call
    report = yield
    if not hasattr(report, "wasxfail"):
        _no_silent_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Turn a skipped module into a failed one."""
    del collector
    report = yield
    _no_silent_skip(report)
    return report


def _no_silent_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if not (IN_CI and report.skipped):
        return
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not any(words in reason for words in ELSEWHERE):
        report.outcome = "failed"
        report.longrepr = f"skipped, which CI takes for a failure: {reason}"


@pytest.fixture(scope="session")
def smollm2() -> Lab:
    """Return the embedded model, loaded once for all tests; on a new machine it is fetched."""
    return open_lab("smollm2")
