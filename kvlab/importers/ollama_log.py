"""Ollama's server.log, from v0.18.3 on and at any level, as events.

One pass over the lines, whatever their level. A record is found by the first letters of its message, a pattern of `formats/ollama-log.toml` takes its figures,
and `ollama_records` says what they mean. What is no whole record goes to `ollama_partial`, which puts wrapped and shortened ones together and gives them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from kvlab.importers.account import Account
from kvlab.importers.formats import Record, formats
from kvlab.importers.ollama_partial import GIN, PartialLines, bare_record
from kvlab.importers.ollama_records import Records
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock
from kvlab.importers.summary import KNOWN, NOT, READ, Summary
from kvlab.importers.trie_dumps import NODE

FORMAT = "ollama-log"
KEY = 8
"""Letters of a message by which a record is found."""

MOST_ACCOUNTED = 1_000
"""Lines whose figures are accounted for."""

UNFIT = "nodes of a trie dump that do not fit"

_MARK = " msg="


class _Entry:
    """Records whose message begins in one way: what they are, what reads them (None: nothing does), and how many there were."""

    __slots__ = ("begin", "count", "event", "is_read", "name", "pattern", "read", "search")

    def __init__(self, begin: str, spec: Record, records: Records) -> None:
        self.begin = begin
        self.event = spec.event
        self.name = "cache trie (nodes)" if spec.event == "node" else begin.strip('": =')
        read = records.reader(spec.event)
        self.read = partial(read, **spec.set) if read is not None and spec.set else read
        self.pattern = NODE if spec.event == "node" else spec.pattern
        self.search = spec.pattern.search
        self.is_read = read is not None or spec.event == "node"
        self.count = 0


class OllamaLog:
    """Reads the lines of a server.log into rows."""

    def __init__(self, rows: Rows, summary: Summary) -> None:
        self._summary = summary
        self._records = records = Records(rows)
        self._partial = PartialLines(self, records, rows, summary)
        self._entries: dict[str, list[_Entry]] = {}
        for spec in formats()[FORMAT].records:
            for begin in spec.begins:
                self._entries.setdefault(begin[:KEY], []).append(_Entry(begin, spec, records))
        for entries in self._entries.values():
            # the longest first: `reloading` must not answer for what only begins like it
            entries.sort(key=lambda one: -len(one.begin))
        self._first: list[str] = []

    @property
    def clock(self) -> Clock:
        """Turns moments into seconds."""
        return self._records.clock

    @property
    def version(self) -> str | None:
        """The server's version, when the log names it."""
        return self._records.version

    @property
    def model(self) -> str:
        """The first model that the log names; "" when none."""
        return self._records.runners.model or self._partial.samples.model

    @property
    def account(self) -> Account:
        """What became of the figures of the log's first lines."""
        account = self._partial.samples.account
        for number, text in enumerate(self._first, 1):
            if not account.has(number):
                self._account(number, text, account)
        return account

    def lines(self, lines: Sequence[str]) -> None:
        """Read the next lines of the file."""
        self._first += lines[: MOST_ACCOUNTED - len(self._first)]
        summary, partial, entries, nodes, length = self._summary, self._partial, self._entries, self._records.nodes, len(_MARK)
        first, done, gin = summary.line + 1, 0, self._entry(GIN, 0)
        for place, line in enumerate(lines):
            if place < done:
                continue
            at = line.find(_MARK) + length
            if partial.waits or at < length:
                summary.line = first + place
                if partial.waits or not (line.startswith(GIN) and self._record(gin, line, 0)):
                    self._line(line)
                continue
            entry = None
            for one in entries.get(line[at : at + KEY], ()):
                if line.startswith(one.begin, at):
                    entry = one
                    break
            if entry is not None and entry.event == "silent":
                entry.count += 1
            elif entry is not None and entry.event == "node" and (taken := nodes(lines, place, at)):
                entry.count += taken
                done = place + taken
            else:
                summary.line = first + place
                if not self._record(entry, line, at):
                    partial.begin(line)
        summary.line = first + len(lines) - 1

    def finish(self) -> None:
        """The file ends: close what is open and hand over the counts."""
        self._partial.finish()
        self._records.end_dump()
        self._records.requests.ended()
        for entry in (one for entries in self._entries.values() for one in entries):
            self._summary.count(entry.name, READ if entry.is_read else KNOWN, times=entry.count)

    def record(self, text: str) -> bool | None:
        """Read a record that was put together; None when it is not one, False when it lacks attributes."""
        at = _begin_of(text)
        return None if at < 0 else self._record(self._entry(text, at), text, at)

    def knows(self, text: str) -> bool:
        """Return whether the message of a record that was put together is a known one."""
        at = _begin_of(text)
        return at >= 0 and self._entry(text, at) is not None

    def may_become_known(self, text: str) -> bool:
        """Return whether the message of such a record is known or the beginning of a known one; one that has no message yet may become any."""
        at = _begin_of(text)
        shown = text[at : at + 80]
        return at < 0 or any(shown.startswith(one.begin) or one.begin.startswith(shown) for entries in self._entries.values() for one in entries)

    def _record(self, entry: _Entry | None, line: str, at: int) -> bool:
        """Read a record whose message begins at `at`; return False when attributes are missing that may be in the next line."""
        records = self._records
        if entry is None and (at == len(line) or (line[at] == '"' and line.find('"', at + 1) < 0)):
            return False
        if entry is not None and entry.event == "node":
            return self._node(entry, line, at)
        if records.dump is not None and at:
            records.end_dump()
        if line.startswith("time="):
            records.rows.t = records.clock.read(line[5 : line.find(" ", 5, 53)])
        elif (begin := line.find("time=", 0, at) + 5) >= 5:
            records.rows.t = records.clock.read(line[begin : line.find(" ", begin, begin + 48)])
        if entry is None:
            self._summary.count(f"record: {records.other(line, at)[:60]}", NOT, line)
            return True
        if entry.read is None:
            records.other(line, at)
        elif (found := entry.search(line, at)) is None:
            return False
        elif entry.read(*found.groups()) is False:
            self._summary.count(f"{entry.name} whose figures contradict each other", NOT, line)
            return True
        entry.count += 1
        return True

    def _node(self, entry: _Entry, line: str, at: int) -> bool:
        taken = self._records.nodes([line], 0, at)
        entry.count += taken
        if not taken and line.endswith('"'):
            self._summary.count(UNFIT, NOT, line)
        return taken > 0 or line.endswith('"')

    def _line(self, text: str) -> None:
        if not text or text.isspace():
            self._summary.count("blank", KNOWN)
        else:
            self._partial.line(text)

    def _entry(self, text: str, at: int) -> _Entry | None:
        """Return what a record is whose message begins at `at`; None when it is not known."""
        return next((one for one in self._entries.get(text[at : at + (KEY if at else len(GIN))], ()) if text.startswith(one.begin, at)), None)

    def _account(self, number: int, text: str, account: Account) -> None:
        if text.startswith("time="):
            account.take(number, 0, text.find(" "), "the record's moment")
        record, shift = bare_record(text)
        at = _begin_of(record)
        entry = self._entry(record, at) if at >= 0 else None
        if entry is not None and entry.is_read and (match := entry.pattern.search(record, at)) is not None:
            for name, value in match.groupdict().items():
                if value is not None and name != "text":
                    account.take(number, match.start(name) + shift, match.end(name) + shift, name)
        account.line(number, text, NOT if entry is None else READ if entry.is_read else KNOWN)


def _begin_of(text: str) -> int:
    """Return where the message of a record begins; -1 when it has none."""
    return 0 if text.startswith(GIN) else at + len(_MARK) - 1 if (at := text.find(_MARK[1:])) >= 0 else -1
