"""Lines of an Ollama log that are no whole record: wrapped and shortened pastes, `[GIN]` lines, panics, another engine's output.

A record whose attributes or quotes go on in the next lines is put together again until it can be read or something else begins. Whether a space stood where
a line was cut is not known, so all ways of joining are kept in which its message may still become a known one. When none leads anywhere the first line
is counted as cut short and the others are read again by themselves. A shortened one (`cache hit total=…`) is read as if its message stood in quotes.
"""

from __future__ import annotations

import re
from typing import Protocol

from kvlab.importers import ollama_values as values
from kvlab.importers.journal import is_mark
from kvlab.importers.ollama_beside import Beside
from kvlab.importers.rows import Rows
from kvlab.importers.summary import KNOWN, NOT, READ, Summary

MOST_LINES = 16
"""Lines over which one record may be wrapped."""

MOST_BYTES = 1 << 13
"""Bytes of a record that is put together."""

MOST_WAYS = 32
"""Ways of joining the lines of one record that are tried."""

MOST_LOOKED_AT = 2_000
"""Bytes by which the kind of a line is told that is no record."""

_BARE = re.compile(
    rb"(?:^|[\s:])(cache hit|cache miss|peak memory|created snapshot|evicting leaf|evicting interior node|failed to restore cache, freeing all caches"
    rb"|page (?:in|out): \[\d+, \d+\)|(?:prefix|kv) cache active_tokens: .*|mlx prompt forward|Prompt processing progress)(?=\s|$)"
)
_ATTRIBUTE = rb'[\w."]{1,80}=(?:"[^"]*"?|[^\s"]\S*|)'
_ATTRIBUTES = re.compile(rb"\s*" + _ATTRIBUTE + rb"(?:\s+" + _ATTRIBUTE + rb")*\s*$")
_FRAGMENT = re.compile(rb"(?:time=\S{1,60})?\s{0,4}(?:level=)?(?:TRACE|DEBUG|INFO|WARN|ERROR)?\s{0,4}(?:source=)?(?:\w{1,60}\.go:\d{1,6})?")
_CRASH = re.compile(rb"^(?:panic: |fatal error: |libc\+\+abi: terminating|SIG[A-Z]+: |signal arrived|.{0,40}\[METAL\] Command buffer execution failed)")
_TRACE = re.compile(rb"^(?:goroutine \d+|created by |\t.*\.go:\d+|\s*[\w./*()-]+\(.*\)\s*$|\s*(?:r\d+|rip|rsp|pc|lr|sp|x\d+|fault|exit status)\b)")
_SYSTEMD = re.compile(rb"(?:Started|Starting|Stopped|Stopping) .*[Oo]llama|[\w@.\-]{1,80}\.service: ")
_OTHER = re.compile(rb"^(?:llama|ggml|gguf|load_|print_info|clip|srv |slot |main:|init|common_|sched_|set_|time=|build:|graph_|alloc_|kv_)")


class Records(Protocol):
    """What reads records."""

    def record(self, line: bytes) -> bool | None:
        """Read a record; None when it is not one, False when it lacks attributes."""
        ...

    def knows(self, line: bytes) -> bool:
        """Return whether the record's message is a known one."""
        ...

    def may_become_known(self, line: bytes) -> bool:
        """Return whether the record's message is a known one or the beginning of one."""
        ...


class Loose:
    """Reads lines that are no whole record.

    Attributes:
        waits: A record waits for its next line.
    """

    __slots__ = ("_beside", "_crashed", "_pieces", "_records", "_rows", "_summary", "_ways", "waits")

    def __init__(self, records: Records, rows: Rows, summary: Summary, beside: Beside) -> None:
        self._records = records
        self._rows = rows
        self._summary = summary
        self._beside = beside
        self._ways: list[bytes] = []
        self.waits = False
        self._pieces: list[bytes] = []
        self._crashed = False

    def begin(self, line: bytes) -> None:
        """Keep a record that lacks something its next line may bring."""
        self._ways, self._pieces, self.waits = [line[:MOST_BYTES]], [line], True

    def line(self, line: bytes) -> None:
        """Read a line."""
        begins = self._beside.begins(line)
        if begins:
            self._give_up_all()
        if (begins or self._beside.waits) and self._beside.take(line):
            self.waits = self._beside.waits
            return
        self._beside.end()
        self.waits = bool(self._ways)
        if self.waits and self._goes_on(line):
            return
        if b" msg=" in line or line.startswith(b"msg="):
            if self._records.record(line) is False:
                self.begin(line)
        elif line.startswith(b"[GIN]"):
            self._gin(line)
        elif (found := _BARE.search(line)) is not None:
            self._bare(line, found)
        elif line.startswith(b"time=") or _is_fragment(line):
            self.begin(line)
        else:
            self._other(line)

    def finish(self) -> None:
        """The file ends."""
        self._give_up_all()
        self._beside.finish()

    def _give_up_all(self) -> None:
        while self._ways:
            self._give_up()

    def _goes_on(self, line: bytes) -> bool:
        """Join a line to the record that waits; return whether it belonged there."""
        first = self._ways[0]
        starts_anew = line.startswith((b"time=", b"[GIN]")) or (b"msg=" in line and b"msg=" in first) or _BARE.search(line)
        if starts_anew or len(self._pieces) >= MOST_LINES or len(first) + len(line) >= MOST_BYTES:
            self._give_up()
            return False
        joined = list(dict.fromkeys(way for one in self._ways for way in (one + line, one + b" " + line.lstrip())))
        if any(self._records.knows(way) and self._records.record(way) for way in joined):
            self._summary.count("rest of a wrapped record", READ, b"", len(self._pieces))
            self._ways, self.waits = [], False
            return True
        ways = [way for way in joined if self._records.may_become_known(way)][:MOST_WAYS]
        fits = first.count(b'"') % 2 == 1 or first.endswith(b"=") or line.startswith(b"msg=")
        if not ways or not (fits or _ATTRIBUTES.match(line[:MOST_LOOKED_AT]) or _is_fragment(line) or first[-1:] not in b' "'):
            self._give_up()
            return False
        self._ways = ways
        self._pieces.append(line)
        return True

    def _give_up(self) -> None:
        if self._ways:
            first = self._ways[0]
            fragment = _is_fragment(first)
            name = "place in the source, without its record" if fragment else "record cut short"
            self._summary.count(name, KNOWN if fragment else NOT, first)
            rest, self._ways, self.waits = self._pieces[1:], [], False
            for line in rest:
                self.line(line)

    def _bare(self, line: bytes, found: re.Match[bytes]) -> None:
        record = b'msg="' + found[1] + b'"' + line[found.end(1) :]
        if self._records.record(record) is False:
            self.begin(record)

    def _gin(self, line: bytes) -> None:
        found = values.GIN.match(line)
        took = values.seconds(found[2]) if found else None
        if found is None or took is None:
            self._summary.count("[GIN] line of another shape", NOT, line)
            return
        self._summary.count("[GIN]", READ)
        if found[3] != b"GET" and found[3] != b"HEAD":
            self._rows.add_to(0, "served", (f"{found[3].decode()} {values.path(found[4])}", int(found[1]), took))

    def _other(self, whole: bytes) -> None:
        line = whole[:MOST_LOOKED_AT]
        if self._beside.take(whole):
            self.waits = self._beside.waits
            return
        if _CRASH.match(line):
            self._crashed = True
            self._rows.add("warned", values.words(line))
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


def _is_fragment(line: bytes) -> bool:
    """Return whether a line is the moment, level and place of a record whose message was cut off."""
    return len(line) < 300 and _FRAGMENT.fullmatch(line.strip()) is not None
