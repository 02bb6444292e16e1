"""Samples between the records of a server's log, which a script wrote into the same file, and lines of other engines that the server runs.

Samples are on the log's own time axis. One after a request and before the next belongs to that request, unless the runner began anew in between or nothing was
listed any more: then it belongs to none.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from kvlab.importers.account import Account
from kvlab.importers.blocks import SEPARATOR
from kvlab.importers.ollama_runners import Runners
from kvlab.importers.paste import Paste
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock
from kvlab.importers.summary import Summary

LONGEST = 1 << 14
"""Letters of a line that are looked at."""

_NOT_HERE = ("activity-monitor", "crash", "http")
"""Formats that a wrapped record may look like, or that the log's own reader knows better."""


class Samples:
    """Reads samples in a log.

    Attributes:
        waits: A listing may go on in the next line.
    """

    __slots__ = ("_paste", "_rows", "_runners", "waits")

    def __init__(self, rows: Rows, clock: Clock, runners: Runners, summary: Summary) -> None:
        self._rows = rows
        self._runners = runners
        self._paste = Paste(rows, summary, clock=clock, without=_NOT_HERE)
        self.waits = False

    @property
    def model(self) -> str:
        """The first model that a sample named; "" when none."""
        return self._paste.model

    @property
    def account(self) -> Account:
        """What became of the figures of samples."""
        return self._paste.account

    def begins(self, line: str) -> bool:
        """Return whether a line begins a sample, whatever came before it."""
        return line.startswith(("NAME ", "NAME\t", "=====")) or (line.startswith("{") and '"models"' in line[:LONGEST])

    def take(self, line: str) -> bool:
        """Read a line; return whether it is of a sample."""
        is_answer = line.startswith("{") and '"models"' in line
        text = (line if is_answer else line[:LONGEST]).rstrip()
        with self._of_last_request():
            if SEPARATOR.fullmatch(text):
                self._paste.line(text)
                return True
            took = self._paste.answer(text) if is_answer else self._paste.take(text)
        self.waits = self.waits or (took and not is_answer)
        return took

    def end(self) -> None:
        """A record of the log follows, or another sample: write what waits."""
        if self.waits:
            self.waits = False
            with self._of_last_request():
                self._paste.end_block()

    def finish(self) -> None:
        """The log ends."""
        with self._of_last_request():
            self._paste.finish()

    @contextmanager
    def _of_last_request(self) -> Generator[None]:
        rows, running = self._rows, self._rows.request
        if not running and rows.requests > self._runners.anew:
            rows.request = rows.requests
        yield
        rows.request = running
