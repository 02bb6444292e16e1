"""Standard output and error as a command writes to them: outside text cannot steer the terminal, no letter is lost or an error where the encoding lacks it.

A stream that was closed before the program began (`>&-`) swallows what is written, as it does in Python.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

from kvlab.visible_text import visible


class Shown:
    """A text stream that writes hidden characters out; all else is the stream's own."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write and return how many characters were given."""
        # a progress bar rewrites its line
        start = text[: text.startswith("\r")]
        self._stream.write(start + visible(text[len(start) :], self._stream.encoding or "utf-8"))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def shown() -> Generator[None]:
    """Replace standard output and error by such streams while the block runs."""
    _fill_closed()
    before = sys.stdout, sys.stderr
    with ExitStack() as opened:
        out, err = (
            opened.enter_context(Path(os.devnull).open("w", encoding="utf-8")) if stream is None else stream
            for stream in cast("tuple[TextIO | None, ...]", before)
        )
        sys.stdout, sys.stderr = cast("TextIO", Shown(out)), cast("TextIO", Shown(err))
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before


def say(words: str) -> None:
    """Print on standard error; a closed one is no error."""
    with suppress(OSError):
        print(words, file=sys.stderr, flush=True)


def drop_output() -> None:
    """Write nothing more to standard output when it is closed or full, not even when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fill_closed() -> None:
    """Open the null device where a standard stream was closed: the next file would get its number, and what a library prints would go into it."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            with suppress(OSError):
                os.open(os.devnull, os.O_RDWR)
