"""The conformance table, made again: each architecture is checked in a process of its own, as one may end its interpreter."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from kvlab.studies import conformance as conformance_table
from tests.tools import conformance
from tests.tools.conformance.configs import CONFIGS, VOCABULARY, config
from tests.tools.conformance.reasons import WHY

ROOT = Path(__file__).resolve().parents[3]
"""The folder that `-m` finds the row's module from."""

WORKERS = 2
"""Processes at a time."""

MOST_SECONDS = 300
"""After that an architecture counts as giving no answer."""

Row = dict[str, Any]


def rows(only: Iterable[str] = (), each: Callable[[], object] = lambda: None) -> list[Row]:
    """Check every architecture, or those in `only`; return their rows in the order of `CONFIGS`. `each` is called when one has answered.

    Raises:
        BadValue: there is no architecture of that name.
    """
    names = wanted(only)
    pool = ThreadPoolExecutor(WORKERS)

    def checked(name: str) -> Row:
        row = checked_in_process(name)
        each()
        return row

    try:
        return list(pool.map(checked, names))
    finally:
        # what has not begun is not begun any more, after an error or an interruption
        pool.shutdown(cancel_futures=True)


def wanted(only: Iterable[str]) -> list[str]:
    """Return the architectures in `only`, or all when it is empty.

    Raises:
        BadValue: there is no architecture of that name.
    """
    return conformance_table.wanted(only, CONFIGS)


def checked_in_process(architecture: str, timeout: float = MOST_SECONDS) -> Row:
    """Return one architecture's row: what it answered, or how its process ended."""
    question = {"architecture": architecture, "config": config(architecture), "needed": list(CONFIGS[architecture]), "vocabulary": VOCABULARY}
    command = [sys.executable, "-m", conformance.ROW]
    try:
        done = subprocess.run(command, check=False, input=json.dumps(question), capture_output=True, text=True, timeout=timeout, cwd=ROOT)
    except subprocess.TimeoutExpired:
        return _row(architecture, f"no answer within {timeout:g} s")
    if done.returncode < 0:
        return _row(architecture, f"the interpreter was ended by {signal.Signals(-done.returncode).name}")
    if done.returncode > 0:
        last = (done.stderr.strip().splitlines() or ["no words"])[-1]
        return _row(architecture, f"the interpreter left with code {done.returncode}: {last}")
    # an architecture may print before
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row if row["result"] == "ok" else _with_reason(row)


def _row(architecture: str, result: str) -> Row:
    return _with_reason({"architecture": architecture, "result": result})


def _with_reason(row: Row) -> Row:
    """Add the reason, where it is known."""
    known = WHY.get(row["architecture"])
    return row | ({"why": known} if known else {})
