"""What ends a command from outside: Ctrl-C, SIGTERM and SIGHUP all stop it as Ctrl-C does, so that what was recorded is kept and named.

Polars answers Ctrl-C itself while it works, and Python then raises it a second time; that one, and one more press while a command cleans up, is passed over.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

SOON_S = 0.05
"""Seconds after which a signal that was raised where nothing can be raised comes again: then that place is left."""

USUAL = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
"""What answers a signal when nobody else does."""


class Stop:
    """What came.

    Attributes:
        number: The signal that came first; 0 while none has.
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
def answered(*, to_the_end: bool) -> Generator[Stop]:
    """Answer signals that nobody else answers; `to_the_end` keeps it so when the block has ended, since the process ends too."""
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
