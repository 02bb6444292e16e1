"""What stands between the records of a server's log when a script wrote samples into the same file: `ollama ps`, answers of /api/ps, and tools of the system.

Samples are on the log's own time axis. One that stands after a request and before the next belongs to that request, unless the runner began anew in
between or nothing was listed any more: then it belongs to none.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from kvlab.errors import KvlabError
from kvlab.importers.api_ps import OTHER, ApiPs
from kvlab.importers.blocks import SEPARATOR, Output, Section
from kvlab.importers.json_text import values
from kvlab.importers.mac_tools import Footprint, VmStat
from kvlab.importers.ollama_ps import OllamaPs
from kvlab.importers.ollama_runners import Runners
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock, find_moment, zoned
from kvlab.importers.summary import READ, Summary

LONGEST = 1 << 14
"""Bytes of a line that are looked at."""


class Beside:
    """Reads samples that stand in a log.

    Attributes:
        waits: A listing may go on in the next line.
    """

    __slots__ = ("_answers", "_clock", "_last", "_output", "_rows", "_runners", "_sections", "_summary", "waits")

    def __init__(self, rows: Rows, clock: Clock, runners: Runners, summary: Summary) -> None:
        self._rows = rows
        self._clock = clock
        self._runners = runners
        self._summary = summary
        self._output = Output(rows)
        self._sections: tuple[Section, ...] = (OllamaPs(self._output), VmStat(self._output), Footprint(self._output))
        self._answers = ApiPs(rows, summary)
        self._answers.clock = clock
        self._last: Section | None = None
        self.waits = False

    @property
    def model(self) -> str:
        """The first model that a sample named; "" when none."""
        return self._output.model or self._answers.model

    def begins(self, line: bytes) -> bool:
        """Return whether a line begins a sample, whatever stands before it."""
        return line.startswith((b"NAME ", b"NAME\t", b"=====")) or (line.startswith(b"{") and b'"models"' in line[:LONGEST])

    def take(self, line: bytes) -> bool:
        """Read a line; return whether it is of a sample."""
        text = line[:LONGEST].decode("utf-8", "replace").strip()
        if SEPARATOR.fullmatch(text):
            self.end()
            self._output.at = zoned(find_moment(text), self._clock.first)
            self._rows.t = self._clock.read(self._output.at)
            self._summary.count("moment", READ)
            return True
        if line.startswith(b"{") and b'"models"' in line:
            return self._answer(line)
        for section in self._sections if self._last is None else (self._last, *(one for one in self._sections if one is not self._last)):
            with self._of_last_request():
                became = section.take(text)
            if became is not None:
                if section is not self._last:
                    self.end()
                self._last, self.waits = section, True
                self._summary.count(section.kind, became, line)
                return True
        return False

    def end(self) -> None:
        """A record of the log follows, or another sample: write what waits."""
        last, self._last, self.waits = self._last, None, False
        if last is not None:
            with self._of_last_request():
                last.end()

    def _answer(self, line: bytes) -> bool:
        self.end()
        try:
            found = values(line, "an answer of /api/ps")
        except KvlabError:
            return False
        with self._of_last_request():
            took = [self._answers.take(one) for one in found]
        if any(name == OTHER for name, _ in took):
            return False
        # the line counts once
        self._summary.count(*next((one for one in took if one[1] != READ), took[0]), line)
        return True

    @contextmanager
    def _of_last_request(self) -> Generator[None]:
        rows, running = self._rows, self._rows.request
        if not running and rows.requests > self._runners.anew:
            rows.request = rows.requests
        yield
        rows.request = running
