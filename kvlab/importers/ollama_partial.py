"""Lines of an Ollama log that are no whole record: wrapped and shortened pastes, samples of a script, panics, another engine's output.

A record whose attributes or quotes go on in the next lines is put together again until it can be read or something else begins. Whether a space was where a
line was cut is not known, so all ways of joining are kept in which its message may still become a known one. When none leads anywhere the first line
is counted as cut short and the others are read again by themselves. A shortened one (`cache hit total=…`) is read as if its message were in quotes.

Samples are on the log's own time axis. One after a request and before the next belongs to that request, unless the runner began anew in between or nothing was
listed any more: then it belongs to none.
"""

from __future__ import annotations

import re
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kvlab.importers.account import Account
from kvlab.importers.ollama_records import Records, words
from kvlab.importers.paste import Paste
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import SEPARATOR
from kvlab.importers.summary import KNOWN, NOT, READ, Summary
from kvlab.importers.wrappings import is_mark

if TYPE_CHECKING:
    from kvlab.importers.ollama_log import OllamaLog

GIN = "[GIN]"
"""How the server's lines of calls from outside begin."""

MOST_LINES = 16
"""Lines over which one record may be wrapped."""

MOST_LETTERS = 1 << 13
"""Letters of a record that is put together."""

MOST_WAYS = 32
"""Ways of joining the lines of one record that are tried."""

LONGEST_SAMPLE = 1 << 14
"""Letters of a sample's line that are looked at."""

_NOT_HERE = ("activity-monitor", "crash", "http")
"""Formats that a wrapped record may look like, or that the log's own reader knows better."""

MOST_LOOKED_AT = 2_000
"""Letters by which the kind of a line is recognised that is no record."""

_BARE = re.compile(
    r"(?:^|[\s:])(cache hit|cache miss|peak memory|created snapshot|evicting leaf|evicting interior node|failed to restore cache, freeing all caches"
    r"|page (?:in|out): \[\d+, \d+\)|(?:prefix|kv) cache active_tokens: .*|mlx prompt forward|Prompt processing progress)(?=\s|$)"
)
_ATTRIBUTE = r'[\w."]{1,80}=(?:"[^"]*"?|[^\s"]\S*|)'
_ATTRIBUTES = re.compile(rf"\s*{_ATTRIBUTE}(?:\s+{_ATTRIBUTE})*\s*$", re.ASCII)
_FRAGMENT = re.compile(r"(?:time=\S{1,60})?\s{0,4}(?:level=)?(?:TRACE|DEBUG|INFO|WARN|ERROR)?\s{0,4}(?:source=)?(?:\w{1,60}\.go:\d{1,6})?")
_CRASH = re.compile(r"^(?:panic: |fatal error: |libc\+\+abi: terminating|SIG[A-Z]+: |signal arrived|.{0,40}\[METAL\] Command buffer execution failed)")
_TRACE = re.compile(r"^(?:goroutine \d+|created by |\t.*\.go:\d+|\s*[\w./*()-]+\(.*\)\s*$|\s*(?:r\d+|rip|rsp|pc|lr|sp|x\d+|fault|exit status)\b)", re.ASCII)
_SYSTEMD = re.compile(r"(?:Started|Starting|Stopped|Stopping) .*[Oo]llama|[\w@.\-]{1,80}\.service: ")
_OTHER = re.compile(r"^(?:llama|ggml|gguf|load_|print_info|clip|srv |slot |main:|init|common_|sched_|set_|time=|build:|graph_|alloc_|kv_)")


class Samples:
    """Reads samples in a log, and lines of other engines that the server runs.

    Attributes:
        waits: A listing may go on in the next line.
    """

    __slots__ = ("_paste", "_rows", "_runners", "waits")

    def __init__(self, rows: Rows, records: Records, summary: Summary) -> None:
        self._rows = rows
        self._runners = records.runners
        self._paste = Paste(rows, summary, clock=records.clock, without=_NOT_HERE)
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
        return line.startswith(("NAME ", "NAME\t", "=====")) or (line.startswith("{") and '"models"' in line[:LONGEST_SAMPLE])

    def take(self, line: str) -> bool:
        """Read a line; return whether it is of a sample."""
        is_answer = line.startswith("{") and '"models"' in line
        text = (line if is_answer else line[:LONGEST_SAMPLE]).rstrip()
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


class PartialLines:
    """Reads lines that are no whole record.

    Attributes:
        waits: The next line may go on with what this one began.
        samples: Reads what a script wrote between the records.
    """

    __slots__ = ("_crashed", "_pieces", "_reader", "_rows", "_summary", "_ways", "samples", "waits")

    def __init__(self, reader: OllamaLog, records: Records, rows: Rows, summary: Summary) -> None:
        self._reader = reader
        self._rows = rows
        self._summary = summary
        self.samples = Samples(rows, records, summary)
        self._ways: list[str] = []
        self._pieces: list[str] = []
        self._crashed = False
        self.waits = False

    def begin(self, line: str) -> None:
        """Keep a record that lacks something its next line may bring."""
        self._ways, self._pieces, self.waits = [line[:MOST_LETTERS]], [line], True

    def line(self, line: str) -> None:
        """Read a line."""
        begins = self.samples.begins(line)
        if begins:
            self._give_up_all()
        if (begins or self.samples.waits) and self.samples.take(line):
            self.waits = self.samples.waits
            return
        self.samples.end()
        self.waits = bool(self._ways)
        if self.waits and self._goes_on(line):
            return
        record, _ = bare_record(line)
        is_record = " msg=" in line or line.startswith(("msg=", GIN)) or record != line
        if is_record and (became := self._reader.record(record)) is not None:
            if became is False and line.startswith(GIN):
                self._summary.count("[GIN] line of another shape", NOT, line)
            elif became is False:
                self.begin(record)
        elif line.startswith("time=") or _is_fragment(line):
            self.begin(line)
        else:
            self._other(line)

    def finish(self) -> None:
        """The file ends."""
        self._give_up_all()
        self.samples.finish()

    def _give_up_all(self) -> None:
        while self._ways:
            self._give_up()

    def _goes_on(self, line: str) -> bool:
        """Join a line to the record that waits; return whether it belonged there."""
        first = self._ways[0]
        starts_anew = line.startswith(("time=", GIN)) or ("msg=" in line and "msg=" in first) or _BARE.search(line)
        if starts_anew or len(self._pieces) >= MOST_LINES or len(first) + len(line) >= MOST_LETTERS:
            self._give_up()
            return False
        joined = list(dict.fromkeys(way for one in self._ways for way in (one + line, f"{one} {line.lstrip()}")))
        if any(self._reader.knows(way) and self._reader.record(way) for way in joined):
            self._summary.count("rest of a wrapped record", READ, "", len(self._pieces))
            self._ways, self.waits = [], False
            return True
        ways = [way for way in joined if self._reader.may_become_known(way)][:MOST_WAYS]
        fits = first.count('"') % 2 == 1 or first.endswith("=") or line.startswith("msg=")
        if not ways or not (fits or _ATTRIBUTES.match(line[:MOST_LOOKED_AT]) or _is_fragment(line) or first[-1:] not in (" ", '"')):
            self._give_up()
            return False
        self._ways = ways
        self._pieces.append(line)
        return True

    def _give_up(self) -> None:
        if self._ways:
            first = self._ways[0]
            fragment = _is_fragment(first)
            self._summary.count("place in the source, without its record" if fragment else "record cut short", KNOWN if fragment else NOT, first)
            rest, self._ways, self.waits = self._pieces[1:], [], False
            for line in rest:
                self.line(line)

    def _other(self, whole: str) -> None:
        line = whole[:MOST_LOOKED_AT]
        if self.samples.take(whole):
            self.waits = self.samples.waits
            return
        if _CRASH.match(line):
            self._crashed = True
            self._rows.add("warned", words(line))
            self._summary.count("panic", READ)
        elif self._crashed and _TRACE.match(line):
            self._summary.count("trace of a panic", KNOWN)
        elif is_mark(line) or _SYSTEMD.match(line):
            self._summary.count("line of the journal or of systemd", KNOWN)
        elif _OTHER.match(line):
            self._summary.count("line of another engine", KNOWN)
        elif _ATTRIBUTES.match(line):
            self._summary.count("attributes of a record that needs none", KNOWN)
        else:
            self._summary.count("other text", NOT, line)


def bare_record(line: str) -> tuple[str, int]:
    """Return a line with its message in quotes where it has lost them and its `msg=`, and how many letters less stand before what follows."""
    found = None if "msg=" in line else _BARE.search(line)
    if found is None:
        return line, 0
    begin = f'msg="{found[1]}"'
    return begin + line[found.end(1) :], found.end(1) - len(begin)


def _is_fragment(line: str) -> bool:
    """Return whether a line is the moment, level and place of a record whose message was cut off."""
    return len(line) < 300 and _FRAGMENT.fullmatch(line.strip()) is not None
