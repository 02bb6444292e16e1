"""The command line: one file a command, each parses, makes one call and prints. `main` returns the exit code."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType


def _leave(_: int, __: FrameType | None) -> None:
    os._exit(130)


# An interruption while this is imported would print a traceback: `main` is not there yet to answer for it.
_before = signal.getsignal(signal.SIGINT)
_ours = _before is signal.default_int_handler and threading.current_thread() is threading.main_thread()
if _ours:
    signal.signal(signal.SIGINT, _leave)

from kvlab.cli.main import main  # noqa: E402

if _ours:
    signal.signal(signal.SIGINT, _before)

__all__ = ["main"]
