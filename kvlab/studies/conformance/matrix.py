"""The conformance table, made anew: each architecture is asked in a process of its own, as one may end its interpreter."""

from __future__ import annotations

import difflib
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from kvlab.errors import BadValue
from kvlab.models import conformance
from kvlab.studies.conformance.configs import CONFIGS, VOCABULARY, config
from kvlab.studies.conformance.reasons import WHY

WORKERS = 2
"""Processes at a time."""

MOST_SECONDS = 300
"""After that an architecture counts as giving no answer."""

Row = dict[str, Any]


def rows(only: Iterable[str] = (), each: Callable[[], object] = lambda: None) -> list[Row]:
    """Ask every architecture, or those in `only`; return their rows in the order of `CONFIGS`. `each` is called when one has answered.

    Raises:
        BadValue: there is no architecture of that name.
    """
    names = wanted(only)
    pool = ThreadPoolExecutor(WORKERS)

    def asked(name: str) -> Row:
        row = ask(name)
        each()
        return row

    try:
        return list(pool.map(asked, names))
    finally:
        # what has not begun is not begun any more, when something went wrong or somebody interrupts
        pool.shutdown(cancel_futures=True)


def wanted(only: Iterable[str]) -> list[str]:
    """Return the architectures in `only`, or all when it is empty.

    Raises:
        BadValue: there is no architecture of that name.
    """
    chosen = set(only)
    for name in sorted(chosen - set(CONFIGS)):
        near = difflib.get_close_matches(name, CONFIGS, n=1)
        raise BadValue(
            what=f"there is no architecture {name!r}",
            why=f"there are configs for {len(CONFIGS)}, named as mlx-lm names its modules",
            hint=f"did you mean {near[0]}?" if near else f"for example {', '.join(list(CONFIGS)[:3])}",
        )
    return [name for name in CONFIGS if not chosen or name in chosen]


def ask(architecture: str, timeout: float = MOST_SECONDS) -> Row:
    """Return one architecture's row: what it answered, or how its process ended."""
    question = {"architecture": architecture, "config": config(architecture), "needed": list(CONFIGS[architecture]), "vocabulary": VOCABULARY}
    command = [sys.executable, "-m", conformance.ROW]
    try:
        done = subprocess.run(command, check=False, input=json.dumps(question), capture_output=True, text=True, timeout=timeout)
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
    """Put what is known of why beside the result."""
    known = WHY.get(row["architecture"])
    return row | ({"why": known} if known else {})
