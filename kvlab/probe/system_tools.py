"""The system's own tools, run with a limit of time. On a machine that lacks one, nothing is told."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Sequence

Run = Callable[[Sequence[str]], str]
"""Runs a tool and returns what it printed; "" when it is missing, fails or takes too long."""

WITHIN_S = 20.0


def run_tool(words: Sequence[str]) -> str:
    """Return what a tool printed, "" when it printed nothing of use."""
    program = shutil.which(words[0])
    if program is None:
        return ""
    try:
        done = subprocess.run([program, *words[1:]], check=False, capture_output=True, text=True, errors="replace", timeout=WITHIN_S)
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""
