"""What ends a command from outside: Ctrl-C, SIGTERM and SIGHUP all stop it as Ctrl-C does, so that what was recorded is kept and named.

Polars answers Ctrl-C itself while it works, and Python then raises it a second time; that one, and one more press while a command cleans up, is passed over.
A command that records has the argument default `recording_folder`: a function of the arguments that returns where its recording is kept.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

SOON_S = 0.05
"""Seconds after which a signal that was raised where nothing can be raised comes again: then that place is left."""

USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
"""The handlers of a program that sets none."""


class Stop:
    """Handles the signals.

    Attributes:
        number: The first signal received; 0 while none was.
        resting: The command has not begun or has ended: nothing is raised.
    """

    def __init__(self) -> None:
        self.number = 0
        self.resting = True
        self._passed_over = False

    def __call__(self, number: int, frame: FrameType | None = None) -> None:
        """Answer a signal.

        Raises:
            KeyboardInterrupt: the command has to stop.
        """
        del frame
        cleaning = self.resting or isinstance(sys.exception(), KeyboardInterrupt)
        self.number = self.number or number
        if cleaning and not self._passed_over:
            self._passed_over = True
            return
        if self.resting:
            os._exit(128 + number)
        raise KeyboardInterrupt

    def begin(self) -> None:
        """Raise from now on.

        Raises:
            KeyboardInterrupt: a signal has come already.
        """
        self.resting = False
        if self.number:
            raise KeyboardInterrupt

    @property
    def exit_code(self) -> int:
        """128 and the signal's number, as a shell has it."""
        return 128 + (self.number or signal.SIGINT)

    @property
    def words(self) -> str:
        """What happened, in a word or two."""
        return "interrupted" if self.exit_code == 128 + signal.SIGINT else f"ended by {signal.Signals(self.number).name}"


@contextmanager
def handled(*, to_the_end: bool) -> Generator[Stop]:
    """Handle signals that have no handler yet; `to_the_end` keeps it so when the block has ended, since the process ends too."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    before = {number: signal.getsignal(number) for number, usual in USUAL.items() if signal.getsignal(number) is usual}
    hooks = sys.unraisablehook, threading.excepthook

    def unraisable(lost: sys.UnraisableHookArgs) -> None:
        # raised where nothing can be raised, as in a finalizer: the command has to stop all the same
        if _is_stop(lost.exc_type):
            again = threading.Timer(SOON_S, os.kill, (os.getpid(), stop.number or signal.SIGINT))
            again.daemon = True
            again.start()
        else:
            hooks[0](lost)

    def in_thread(lost: threading.ExceptHookArgs) -> None:
        # Polars raises it in any thread in which it works; the main one gets its own
        if not _is_stop(lost.exc_type):
            hooks[1](lost)

    try:
        sys.unraisablehook, threading.excepthook = unraisable, in_thread
        for number in before:
            signal.signal(number, stop)
        yield stop
    finally:
        stop.resting = True
        if not to_the_end:
            sys.unraisablehook, threading.excepthook = hooks
            for number, handler in before.items():
                signal.signal(number, handler)


def _is_stop(kind: type[BaseException] | None) -> bool:
    return kind is not None and issubclass(kind, KeyboardInterrupt)


def recording_folder(args: argparse.Namespace) -> str | None:
    """Return the folder in which a command keeps its recording; None when it keeps none."""
    return args.recording_folder(args) if "recording_folder" in args else None


def kept_recording(args: argparse.Namespace) -> int | None:
    """Return a number for the recording that is in that folder now; a new recording there has another one, and None is none."""
    folder = recording_folder(args)
    try:
        found = Path(folder).expanduser() if folder else None
        return found.stat().st_ino if found and (found / "manifest.json").is_file() else None
    except OSError:
        return None


def stop_message(args: argparse.Namespace, stopped: BaseException, how: str) -> str:
    """Return the message of a command that was stopped; `how` says by what."""
    if "recording_folder" not in args:
        return how
    if not recording_folder(args):
        return f"{how}; nothing was kept, --out NAME.kvrec keeps what is recorded"
    return "; ".join([how, *notes]) if (notes := kept_notes(args, stopped)) else f"{how} before anything was recorded"


def kept_notes(args: argparse.Namespace, error: BaseException) -> list[str]:
    """Return where what was recorded until an error is kept; nothing when it was in a temporary folder."""
    notes: list[str] = getattr(error, "__notes__", [])
    return notes if recording_folder(args) else []
