"""Lines of an Ollama log that are no whole record: wrapped and shortened pastes, `[GIN]` lines, panics, another engine's output.

A record whose attributes or quotes go on in the next lines is put together again, joined with a space or without, until it can be read or
something else begins. A shortened one (`cache hit total=…`) is read as if its message stood in quotes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kvlab.importers import ollama_values as values
from kvlab.importers.rows import Rows
from kvlab.importers.summary import KNOWN, NOT, READ, Summary

MOST_LINES = 16
"""Lines over which one record may be wrapped."""

MOST_BYTES = 1 << 16
"""Bytes of a record that is put together."""

MOST_LOOKED_AT = 2_000
"""Bytes by which the kind of a line is told that is no record."""

_BARE = re.compile(
    rb"(?:^|[\s:])(cache hit|cache miss|peak memory|created snapshot|evicting leaf|evicting interior node|failed to restore cache, freeing all caches"
    rb"|page (?:in|out): \[\d+, \d+\)|(?:prefix|kv) cache active_tokens: .*|mlx prompt forward|Prompt processing progress)(?=\s|$)"
)
_ATTRIBUTE = rb'[\w."]{1,80}=(?:"[^"]*"?|[^\s"]\S*|)'
_ATTRIBUTES = re.compile(rb"\s*" + _ATTRIBUTE + rb"(?:\s+" + _ATTRIBUTE + rb")*\s*$")
_FRAGMENT = re.compile(rb"\s*(?:time=\S+\s*)?(?:level=)?(?:TRACE|DEBUG|INFO|WARN|ERROR)?\s*(?:source=)?(?:\w+\.go:\d+)?\s*$")
_CRASH = re.compile(rb"^(?:panic: |fatal error: |libc\+\+abi: terminating|SIG[A-Z]+: |signal arrived|.{0,40}\[METAL\] Command buffer execution failed)")
_TRACE = re.compile(rb"^(?:goroutine \d+|created by |\t.*\.go:\d+|\s*[\w./*()-]+\(.*\)\s*$|\s*(?:r\d+|rip|rsp|pc|lr|sp|x\d+|fault|exit status)\b)")
_OTHER = re.compile(rb"^(?:llama|ggml|gguf|load_|print_info|clip|srv |slot |main:|init|common_|sched_|set_|time=|build:|graph_|alloc_|kv_)")


class Loose:
    """Reads lines that are no whole record.

    Attributes:
        partial: A record that waits for its next line; empty when none does.
    """

    __slots__ = ("_crashed", "_knows", "_parts", "_record", "_rows", "_summary", "partial")

    def __init__(self, record: Callable[[bytes], bool | None], knows: Callable[[bytes], bool], rows: Rows, summary: Summary) -> None:
        self._record = record
        self._knows = knows
        self._rows = rows
        self._summary = summary
        self.partial = b""
        self._parts = 0
        self._crashed = False

    def begin(self, line: bytes) -> None:
        """Keep a record that lacks something its next line may bring."""
        self.partial, self._parts = line[:MOST_BYTES], 1

    def line(self, line: bytes) -> None:
        """Read a line."""
        if self.partial and self._goes_on(line):
            return
        if b" msg=" in line or line.startswith(b"msg="):
            if self._record(line) is False:
                self.begin(line)
        elif line.startswith(b"[GIN]"):
            self._gin(line)
        elif (found := _BARE.search(line)) is not None:
            self._bare(line, found)
        elif line.startswith(b"time=") or _FRAGMENT.match(line):
            self.begin(line)
        else:
            self._other(line)

    def finish(self) -> None:
        """The file ends."""
        self._give_up()

    def _goes_on(self, line: bytes) -> bool:
        """Join a line to the record that waits; return whether it belonged there."""
        starts_anew = line.startswith((b"time=", b"[GIN]")) or (b"msg=" in line and b"msg=" in self.partial)
        if starts_anew or self._parts >= MOST_LINES or len(self.partial) + len(line) >= MOST_BYTES:
            self._give_up()
            return False
        joined = (self.partial + b" " + line.lstrip(), self.partial + line)
        if any(self._knows(one) and self._record(one) for one in joined):
            self._summary.count("rest of a wrapped record", READ, b"", self._parts)
            self.partial = b""
            return True
        open_quote = self.partial.count(b'"') % 2 == 1
        if not (open_quote or _ATTRIBUTES.match(line[:MOST_LOOKED_AT]) or _FRAGMENT.match(line) or line.startswith(b"msg=")):
            self._give_up()
            return False
        glue = b"" if open_quote and not line.startswith(b" ") and self.partial[-1:].isalnum() and line[:1].islower() else b" "
        self.partial += glue + line.lstrip()
        self._parts += 1
        return True

    def _give_up(self) -> None:
        if self.partial:
            fragment = _FRAGMENT.match(self.partial) is not None
            name = "place in the source, without its record" if fragment else "record cut short"
            self._summary.count(name, KNOWN if fragment else NOT, self.partial, self._parts)
            self.partial = b""

    def _bare(self, line: bytes, found: re.Match[bytes]) -> None:
        record = b'msg="' + found[1] + b'"' + line[found.end(1) :]
        if self._record(record) is False:
            self.begin(record)

    def _gin(self, line: bytes) -> None:
        found = values.GIN.match(line)
        took = values.seconds(found[2]) if found else None
        if found is None or took is None:
            self._summary.count("[GIN] line of another shape", NOT, line)
            return
        self._summary.count("[GIN]", READ)
        if found[3] != b"GET" and found[3] != b"HEAD":
            self._rows.add_to(0, "served", (f"{found[3].decode()} {values.words(found[4]).partition('?')[0]}", int(found[1]), took))

    def _other(self, whole: bytes) -> None:
        line = whole[:MOST_LOOKED_AT]
        if _CRASH.match(line):
            self._crashed = True
            self._rows.add("warned", values.words(line))
            self._summary.count("panic", READ)
        elif self._crashed and _TRACE.match(line):
            self._summary.count("trace of a panic", KNOWN)
        elif _OTHER.match(line):
            self._summary.count("line of another engine", KNOWN)
        elif _ATTRIBUTES.match(line):
            self._summary.count("attributes of a record that needs none", KNOWN)
        else:
            self._summary.count("other text", NOT, line)
