"""What is told of processes: traces of `ps`, and the summary of `vmmap`.

`ps` counts RSS and VSZ in KiB. `vmmap` prints K, M and G, powers of 1024. Of a command only the program and the model are kept: the rest holds paths.
"""

from __future__ import annotations

import re

from kvlab.importers.blocks import Output
from kvlab.importers.figures import read_figure
from kvlab.importers.stamps import Clock, find_moment
from kvlab.importers.summary import KNOWN, READ

_MODEL = re.compile(r"--model[ =](\S{1,200})")
_KIB = {"rss": "rss", "rss_kb": "rss", "rss_kib": "rss", "vsz": "virtual", "vsz_kb": "virtual", "vsz_kib": "virtual"}


class PsTrace:
    """Reads `ps` under a heading with PID and RSS, in columns or with tabs, once or again and again."""

    kind = "ps-trace"

    def __init__(self, output: Output) -> None:
        self._out = output
        self._clock = Clock()
        self._titles: list[str] = []
        self._tabs = False

    def take(self, text: str) -> str | None:
        """Read a line; None when it is not of a trace."""
        cells = text.split("\t") if "\t" in text else text.split()
        titles = [cell.strip().lower() for cell in cells]
        if "pid" in titles and any(title in _KIB for title in titles):
            self._titles, self._tabs = titles, "\t" in text
            return KNOWN
        if not self._titles:
            return None
        cells = text.split("\t") if self._tabs else text.split(None, len(self._titles) - 1)
        row = dict(zip(self._titles, (cell.strip() for cell in cells), strict=False))
        pid = _count(row.get("pid", ""))
        if pid is None or len(cells) < len(self._titles):
            return None
        self._write(row, pid)
        return READ

    def end(self) -> None:
        """The trace ends."""
        self._titles = []

    def _write(self, row: dict[str, str], pid: int) -> None:
        out = self._out
        if moment := find_moment(row.get("ts", "") or row.get("time", "")):
            out.at = moment
            out.rows.t = self._clock.read(moment)
        command = row.get("command") or row.get("args") or row.get("comm") or ""
        program = (row.get("comm") or command.split(" ")[0]).rpartition("/")[2]
        model = _MODEL.search(command)
        name = model[1].rpartition("/")[2] if model else ""
        out.model = out.model or name
        out.rows.add("process_seen", pid, _count(row.get("ppid", "")), program, name, out.at)
        for title, gauge in _KIB.items():
            count = _count(row.get(title, ""))
            if count is not None:
                out.figure(gauge, count * 1024, unit="KiB", step=1024, label=program, pid=pid)


def _count(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 16 else None


_PROCESS = re.compile(r"Process:\s+(\S.{0,120}?) \[(\d{1,9})\]")
_SUMMARY = re.compile(r"Physical footprint( \(peak\))?:\s+(\S+)")
_TITLES = ("virtual", "resident", "dirty", "swapped")
_REGION = re.compile(r"(\S(?:.*?\S)?)\s{2,}(\d[\d.]*[KMGT]?)\s+(\d[\d.]*[KMGT]?)\s+(\d[\d.]*[KMGT]?)\s+(\d[\d.]*[KMGT]?)\b.*")


class Vmmap:
    """Reads `vmmap -summary PID`: the physical footprint now and at most, and the kinds of regions with virtual, resident, dirty and swapped bytes."""

    kind = "vmmap"

    def __init__(self, output: Output) -> None:
        self._out = output
        self._begun = self._in_table = False
        self._pid: int | None = None
        self._name = ""

    def take(self, text: str) -> str | None:
        """Read a line; None when it is not of a summary."""
        if found := _PROCESS.match(text):
            self._begun, self._in_table, self._name, self._pid = True, False, found[1].rpartition("/")[2], int(found[2])
            self._out.rows.add("process_seen", self._pid, None, self._name, "", self._out.at)
            return READ
        if found := _SUMMARY.match(text):
            figure = read_figure(found[2])
            if figure is None or figure.observed is None:
                return None
            self._begun = True
            self._out.figure(
                "footprint_peak" if found[1] else "footprint", figure.observed, unit=figure.unit, step=figure.step, label=self._name, pid=self._pid
            )
            return READ
        return self._inside(text) if self._begun else None

    def end(self) -> None:
        """The summary ends."""
        self._begun = self._in_table = False
        self._pid, self._name = None, ""

    def _inside(self, text: str) -> str | None:
        if text.startswith("REGION TYPE"):
            self._in_table = True
            return KNOWN
        if text.lstrip().startswith(("MALLOC ZONE", "VIRTUAL")) or not self._in_table:
            # zones repeat what the regions hold; lines before the table name the program, the machine and the moment
            self._in_table = self._in_table and not text.startswith("MALLOC ZONE")
            return KNOWN
        found = _REGION.fullmatch(text)
        if found is None:
            return KNOWN if set(text) <= set("= ") else None
        for title, cell in zip(_TITLES, found.groups()[1:], strict=True):
            figure = read_figure(cell if cell[-1].isalpha() else f"{cell} B")
            if figure is not None and figure.observed is not None:
                self._out.figure(f"region_{title}", figure.observed, unit=figure.unit, step=figure.step, label=found[1], pid=self._pid)
        return READ
