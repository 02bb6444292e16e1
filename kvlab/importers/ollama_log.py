"""Ollama's server.log, from v0.18.3 on and at any level, as events.

One pass over the lines. A record is found by its ` msg=`, and by the first eight bytes of its message one table says what reads it: most lines of a
TRACE log are counted after three cheap steps, and only lines that carry figures meet a pattern. What is no whole record (pastes that were
wrapped or shortened, `[GIN]` lines, panics, another engine's output) goes to `ollama_loose`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvlab.importers import ollama_names as names
from kvlab.importers import ollama_values as values
from kvlab.importers.account import Account
from kvlab.importers.ollama_account import account_for
from kvlab.importers.ollama_beside import Beside
from kvlab.importers.ollama_bulk import NAMES, Bulk
from kvlab.importers.ollama_loose import Loose
from kvlab.importers.ollama_records import Records
from kvlab.importers.ollama_stretches import MARK, SERVED, Stretch, stretches
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock
from kvlab.importers.summary import KNOWN, NOT, READ, Summary

Reader = Callable[[bytes, int], bool]

_FIRST = 32

MOST_ACCOUNTED = 1_000
"""Lines whose figures are accounted for."""

UNFIT = "nodes of a trie dump that do not fit"


class _Entry:
    """Records of one message: how it begins as printed, what reads it, and how many there were."""

    __slots__ = ("begin", "count", "name", "read", "silent")

    def __init__(self, name: str, begin: bytes, read: Reader | None, *, silent: bool = False) -> None:
        self.name = name
        self.begin = begin
        self.read = read
        self.silent = silent
        self.count = 0


_NO_ENTRIES = [_Entry("", b"\n", None)]
"""Of a message that is not known: no line begins so."""


class OllamaLog:
    """Reads the lines of a server.log into rows."""

    kind = "ollama-log"

    def __init__(self, rows: Rows, summary: Summary) -> None:
        self._summary = summary
        self._records = Records(rows)
        self._beside = Beside(rows, self._records.clock, self._records.runners, summary)
        self._loose = Loose(self, rows, summary, self._beside)
        self._table: dict[bytes, list[_Entry]] = {}
        self._nodes = _Entry("cache trie (nodes)", b'"  ', self._records.dump_node)
        self._fill()
        self._first: list[bytes] = []
        self._named = {entry.name: entry for entries in self._table.values() for entry in entries}

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
        return self._records.runners.model or self._beside.model

    @property
    def account(self) -> Account:
        """What became of the figures of the log's first lines."""
        account_for(enumerate((line.decode("utf-8", "replace") for line in self._first), 1), self._beside.account)
        self._first = []
        return self._beside.account

    def _fill(self) -> None:
        for message, method in names.READ.items():
            self._enter(message, getattr(self._records, method))
        for message in names.SILENT:
            self._enter(message, None, silent=True)
        for message in names.KNOWN:
            self._enter(message, None)
        for begin in names.DUMP_LINES:
            self._table[names.key(begin)] = [self._nodes]

    def _enter(self, message: str, read: Reader | None, *, silent: bool = False) -> None:
        entry = _Entry(message.rstrip(": "), names.begin_of(message), read, silent=silent)
        entries = self._table.setdefault(names.key(message), [])
        entries.append(entry)
        # the longest first: `reloading` must not answer for what only begins like it
        entries.sort(key=lambda one: -len(one.begin))
        # the loop over the lines looks at the first one only
        if silent and len(entries) > 1:
            msg = f"{message} begins like another message"
            raise ValueError(msg)

    def lines(self, lines: Sequence[bytes]) -> None:
        """Read the next lines of the file."""
        if len(self._first) < MOST_ACCOUNTED:
            self._first += lines[: MOST_ACCOUNTED - len(self._first)]
        if not self._records.clock.first and len(lines) > 2 * _FIRST:
            # moments are told from the first one on
            self._each(lines[:_FIRST])
            lines = lines[_FIRST:]
        found = stretches(lines)
        if not found:
            self._each(lines)
            return
        records, done = self._records, 0
        with records.rows.held():
            bulk = Bulk(lines, found, records.rows, records.clock)
            for place, stretch in enumerate(found):
                self._each(lines[done : stretch.first])
                if self._loose.waits or records.dump is not None or not records.requests.idle or (counts := bulk.take(place)) is None:
                    self._each(lines[stretch.first : stretch.last])
                else:
                    self._count(counts, stretch)
                done = stretch.last
            self._each(lines[done:])
            bulk.write()

    def _count(self, counts: dict[str, int], stretch: Stretch) -> None:
        """Count the lines of a stretch that was read at once."""
        self._records.requests.skipped()
        begin, served = self._summary.line, counts.pop(NAMES[SERVED])
        if served:
            self._summary.line = begin + stretch.codes.index(SERVED) + 1
            self._summary.count(NAMES[SERVED], READ, times=served)
        for name, count in counts.items():
            self._named[name].count += count
        self._summary.line = begin + len(stretch.codes)

    def _each(self, lines: Sequence[bytes]) -> None:
        """Read lines one by one."""
        table, summary, loose, nodes, mark, size_of_mark = self._table, self._summary, self._loose, self._nodes, MARK, len(MARK)
        first, dump_node, dump_on = summary.line, self._records.dump_node, self._records.dump_on
        skip = 0
        for number, line in enumerate(lines, first + 1):
            if number <= skip:
                continue
            at = line.find(mark) + size_of_mark
            if at < size_of_mark or loose.waits:
                summary.line = number
                self._loose_line(line)
                continue
            entries = table.get(line[at : at + 8], _NO_ENTRIES)
            entry = entries[0]
            if entry is nodes:
                if dump_node(line, at):
                    skip = first + dump_on(lines, number - first)
                    entry.count += 1 + max(0, skip - number)
                    continue
            elif entry.silent and line.startswith(entry.begin, at):
                entry.count += 1
                continue
            summary.line = number
            self._told(line, at, entries)
        summary.line = first + len(lines)

    def _loose_line(self, line: bytes) -> None:
        if not line or line.isspace():
            self._summary.count("blank", KNOWN)
        else:
            self._loose.line(line)

    def _told(self, line: bytes, at: int, entries: list[_Entry]) -> None:
        if entries[0] is self._nodes and line[-1:] == b'"':
            self._summary.count(UNFIT, NOT, line)
        elif not self._record(line, at, entries):
            self._loose.begin(line)

    def record(self, line: bytes) -> bool | None:
        """Read a record that was put together; None when it is not one, False when it lacks attributes."""
        at = line.find(b"msg=")
        if at < 0:
            return None
        return self._record(line, at + 4, self._table.get(line[at + 4 : at + 12], _NO_ENTRIES))

    def knows(self, line: bytes) -> bool:
        """Return whether the message of a record that was put together is a known one."""
        at = line.find(b"msg=") + 4
        return at >= 4 and any(line.startswith(entry.begin, at) for entry in self._table.get(line[at : at + 8], ()))

    def may_become_known(self, line: bytes) -> bool:
        """Return whether the message of such a record is known or the beginning of a known one; one that has no message yet may become any."""
        at = line.find(b"msg=") + 4
        text = line[at : at + 80]
        return at < 4 or any(text.startswith(one.begin) or one.begin.startswith(text) for entries in self._table.values() for one in entries)

    def finish(self) -> None:
        """The file ends: close what is open and hand over the counts."""
        self._loose.finish()
        self._records.end_dump()
        self._records.requests.ended()
        for entry in {id(entry): entry for entries in self._table.values() for entry in entries}.values():
            if entry.count:
                self._summary.count(entry.name, KNOWN if entry.read is None else READ, b"", entry.count)

    def _record(self, line: bytes, at: int, entries: list[_Entry]) -> bool:
        """Read a record whose message begins at `at`; return False when attributes are missing that may stand in the next line."""
        for entry in entries:
            if line.startswith(entry.begin, at):
                return self._known(entry, line, at)
        if at == len(line) or (line[at : at + 1] == b'"' and line.find(b'"', at + 1) < 0):
            return False
        self._unknown(line, at)
        return True

    def _known(self, entry: _Entry, line: bytes, at: int) -> bool:
        records = self._records
        if entry is self._nodes:
            if not records.dump_node(line, at):
                return False
        else:
            if records.dump is not None:
                records.end_dump()
            records.stamp(line, at)
            if entry.read is None:
                records.warn_of(line, at)
            elif not entry.read(line, at):
                return False
        if records.contradicts:
            records.contradicts = False
            self._summary.count(f"{entry.name} whose figures contradict each other", NOT, line)
        else:
            entry.count += 1
        return True

    def _unknown(self, line: bytes, at: int) -> None:
        self._records.stamp(line, at)
        found = values.NAMED.match(line, at - 4)
        name = values.words(found[1] or found[2]) if found else "no message"
        self._records.warn_of(line, at)
        self._summary.count(f"record: {name[:60]}", NOT, line)
