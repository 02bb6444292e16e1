"""What people paste: logs, tools' outputs, tables, JSON, commands and prose in any order, each line given to what knows it.

A line that no format knows waits for the lines around it: together they may be a table, or figures with names (`footprint=1.3G`). What they are not is
counted as other text and harms nothing else. A moment in a line of its own, or printed by `date`, is the moment of what follows.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvlab.errors import UnreadableInput
from kvlab.events import Observed
from kvlab.importers.account import Account
from kvlab.importers.answers import Answers
from kvlab.importers.columns import Rows as ColumnRows
from kvlab.importers.columns import heading_of
from kvlab.importers.engine import Engine
from kvlab.importers.formats import Format, Line, formats
from kvlab.importers.json_text import JsonLines
from kvlab.importers.rows import KeptTables, Output, Rows
from kvlab.importers.stamps import SEPARATOR, Clock, find_moment, read_moment
from kvlab.importers.summary import KNOWN, NOT, READ, Summary
from kvlab.importers.table_known import is_ours
from kvlab.importers.table_shapes import Grid, grid_of_pairs, read_grid
from kvlab.importers.tables import Table
from kvlab.importers.wrappings import WARNS, Prefix, prefix_of

TABLE = "table"
API_PS = "api-ps"

LONGEST = 2_000
"""Letters of a line that are looked at: no tool's figures stand further right."""

MOST_BYTES = 1 << 26
"""Bytes of lines that wait to become a table."""

HEADINGS_ABOVE = 3
"""Lines of prose that may stand right above a table."""

_RULE = re.compile(r"[\s=\-_*+|]+")
_PROMPT = re.compile(
    r"\s*(?:\([\w.\-]{1,40}\) )?"
    r"(?:(?:[\w.\-]{1,40}@[\w.\-]{1,60}[: ]?\S{0,80} ?|~\S{0,80} ?)?[$%\u276f] ?(?=\S)|PS \S{0,80}> "
    r"|# (?=(?:ps|top|free|ollama|docker|curl|pgrep|lsof|date|vm_stat)\b))"
    r"(?P<command>[A-Za-z./(\[{]\S*.*|:.*)"
)
_FENCE = re.compile(r"\s*(?:```|~~~).*|</?(?:details|summary|pre|code|p|br)\b[^>]*>.*")


class Paste:
    """Reads a text of any kinds.

    Attributes:
        clock: Turns moments into seconds.
    """

    version: str | None = None

    def __init__(self, rows: Rows, summary: Summary, only: str | None = None, *, clock: Clock | None = None, without: Sequence[str] = ()) -> None:
        """Read by all formats but some, or by one only."""
        self._rows, self._summary = rows, summary
        self._only = only
        self.clock = clock or Clock()
        self.output = Output(rows)
        self._formats: Sequence[Format] = [one for one in formats().values() if only in (None, one.name) and one.name not in without]
        self._engine = Engine(self.output, self.clock, self._formats)
        self._account = Account()
        self._answers = Answers(rows, summary, self._engine, self.clock)
        self._json = JsonLines()
        self._columns: ColumnRows | None = None
        self._waiting: list[tuple[int, str]] = []
        self._waits = 0
        self._read: dict[str, None] = {}

    @property
    def model(self) -> str:
        """The first model that was named; "" when none."""
        return self.output.model or self._answers.model

    @property
    def account(self) -> Account:
        """What became of every figure."""
        return self._account

    @property
    def read(self) -> list[str]:
        """Names of the formats by which something was read."""
        return list(self._read | self._engine.names)

    def lines(self, lines: Sequence[str]) -> None:
        """Read the next lines of the file."""
        for line in lines:
            self._summary.line += 1
            self.line(line.rstrip())

    def finish(self) -> None:
        """The file ends."""
        self._end_json()
        self._settle()
        self._engine.end()

    def end_block(self) -> None:
        """What follows is of another kind: write what waits."""
        self._columns = None
        self._engine.end_block()

    def answer(self, text: str) -> bool:
        """Read a line that is an answer; return whether it is one of a known shape."""
        return self._answers.take(text, self._only) is not None

    def line(self, text: str) -> None:
        """Read a line."""
        if self._json.waits or self._json.begins(text, self._waiting):
            self._json_line(text)
            return
        text = text[:LONGEST] if len(text) > LONGEST and "," not in text[:LONGEST] and "|" not in text[:LONGEST] else text
        if not text.strip():
            self._settle()
            self._columns = None
            self._count("blank", KNOWN, text)
        elif SEPARATOR.fullmatch(text):
            self._settle()
            self._engine.end_block()
            self._engine.moment(find_moment(text))
            self._count("moment", READ, text)
        elif _FENCE.fullmatch(text):
            self._settle()
            self._count("fence", KNOWN, text)
        elif not self.take(text):
            self._wait(text)

    def take(self, text: str) -> bool:
        """Read a line by itself; return whether a format knows it."""
        row = self._columns.fields(text) if self._columns is not None else None
        if row is not None and self._columns is not None:
            self._settle()
            spec = self._columns.spec
            for name, (value, at) in row.items():
                self._account.take(self._summary.line, at, at + len(value), name)
            became = self._engine.read(spec, {name: value for name, (value, _) in row.items()})
            self._count(spec.format, became, text)
            return True
        prefix = prefix_of(text)
        indent = len(text) - len(text.lstrip())
        for begin in dict.fromkeys((0 if prefix is None else prefix.end, 0, indent)):
            if (found := self._engine.take(text[begin:])) is not None:
                self._settle()
                self._columns = None
                if prefix is not None and prefix.time:
                    self._engine.moment(read_moment(prefix.time))
                    self._account.take(self._summary.line, 0, prefix.end, "the line's moment")
                self._found(*found, text, begin)
                return True
        if (heading := heading_of(self._formats, text)) is not None:
            self._settle()
            self._engine.end_block()
            self._columns = heading
            self._engine.names[heading.spec.format] = None
            self._count(heading.spec.format, KNOWN, text)
            return True
        return self._is_command(text) or (prefix is not None and self._is_record(text, prefix))

    def _found(self, line: Line, matches: list[re.Match[str]], text: str, begin: int) -> None:
        shared: dict[str, str] = {}
        for one in matches:
            name = line.names.get((one.groupdict().get("name") or "").lower().strip()) if line.repeat else None
            if name in ("process", "pid"):
                shared[name] = one["value"].strip()
        became = KNOWN
        for one in matches:
            fields = {name: value for name, value in one.groupdict().items() if value is not None}
            for name in fields:
                what = line.names.get(fields.get("name", "").lower().strip(), "") if name == "value" else name
                if name != "name" and what:
                    self._account.take(self._summary.line, begin + one.start(name), begin + one.end(name), what)
            if self._engine.read(line, {**shared, **fields}) == READ:
                became = READ
        self._count(line.format, became, text)

    def _is_command(self, text: str) -> bool:
        found = _PROMPT.fullmatch(text)
        if found is None:
            return False
        self._settle()
        self._engine.end_block()
        self._columns = None
        known = self._engine.take(found["command"])
        if known is None:
            self._count("command", KNOWN, text)
        else:
            self._found(*known, text, found.start("command"))
        return True

    def _is_record(self, text: str, prefix: Prefix) -> bool:
        """Read a record of a log of which something else was read; what it says is not known."""
        message = text[prefix.end :].strip()
        if message and not any(name not in ("table", API_PS) for name in self.read):
            return False
        if not prefix.level and message:
            return False
        self._settle()
        if prefix.time:
            self._engine.moment(read_moment(prefix.time))
        if prefix.level in WARNS and message:
            self._engine.warn(message)
            self._count("warning", READ, text)
        else:
            self._count("record without figures", KNOWN if not re.search(r"\d", message) else NOT, text)
        return True

    def _wait(self, text: str) -> None:
        self._waiting.append((self._summary.line, text))
        self._waits += len(text)
        if self._waits > MOST_BYTES:
            self._settle()

    def _settle(self) -> None:
        """What waits is a table, figures with names, or text of its own."""
        waiting, self._waiting, self._waits = self._waiting, [], 0
        if not waiting:
            return
        grid = self._grid([text for _, text in waiting])
        last = self._summary.line
        if grid is None or not self._take_table(grid, waiting):
            for place, text in waiting:
                self._summary.line = place
                if _RULE.fullmatch(text):
                    self._count("rule", KNOWN, text)
                else:
                    self._count("comment", KNOWN, text) if text.lstrip().startswith("#") else self._count("other text", NOT, text)
        self._summary.line = last

    def _take_table(self, grid: Grid, waiting: list[tuple[int, str]]) -> bool:
        """Read a table; return False when it can be read in two ways, in a text of which something else is read."""
        self._engine.end_block()
        try:
            Table(self._rows, self._summary, self.clock, self._account).read(grid, waiting)
        except UnreadableInput as error:
            if not self.read:
                raise
            self._summary.notes.append(f"a table in line {waiting[0][0]}: {error.what}")
            return False
        self._read[TABLE] = None
        return True

    def _grid(self, lines: list[str]) -> Grid | None:
        if self._only not in (None, TABLE):
            return None
        for above in range(min(HEADINGS_ABOVE + 1, max(1, len(lines) - 1))):
            grid = read_grid(lines[above:]) or grid_of_pairs(lines[above:])
            if grid is not None and (self._only == TABLE or is_ours(grid)):
                grid.shift(lines[:above])
                return grid
        return None

    def _json_line(self, text: str) -> None:
        done = self._json.add(text)
        if done is not None:
            self._take_json(done)

    def _end_json(self) -> None:
        if (lines := self._json.end()) is not None:
            self._take_json(lines)

    def _take_json(self, lines: list[str]) -> None:
        self._settle()
        last = self._summary.line
        self._summary.line = last - len(lines) + 1
        name = self._answers.take("\n".join(lines), self._only)
        if name is not None:
            if name in (API_PS, *(one.name for one in self._formats)):
                self._read[name] = None
            for number, text in enumerate(lines, self._summary.line):
                self._account.line(number, text, READ)
                for key, value, what in self._answers.taken:
                    for found in re.finditer(rf'"{re.escape(key)}"\s*:\s*"?({re.escape(value) or "[0-9]+"})', text):
                        self._account.take(number, found.start(1), found.end(1), what)
            self._summary.count("more of an answer", KNOWN, times=len(lines) - 1)
        else:
            for text in lines:
                self._wait(text)
                self._summary.line += 1
        self._summary.line = last

    def _count(self, kind: str, became: str, text: str) -> None:
        self._summary.count(kind, became, text)
        self._account.line(self._summary.line, text, became)


def observed_in(text: str, kind: str | None = None) -> list[Observed]:
    """Return the figures that a tool printed; lines that no format, or not this one, knows are passed over."""
    kept = KeptTables()
    rows = Rows(kept, "")
    paste = Paste(rows, Summary(), kind)
    paste.lines(text.splitlines())
    paste.finish()
    rows.flush()
    return [event for event in kept.events() if isinstance(event, Observed)]
