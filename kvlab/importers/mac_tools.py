"""What macOS tells of its own: `vm_stat`, `sysctl vm.swapusage`, `memory_pressure`, `footprint`, and Activity Monitor's panes as they are typed off.

`footprint` and Activity Monitor call 1024-based units KB, MB and GB: a page of 16384 bytes is 16 KB there, and a Mac with 48 GiB has 48.00 GB. They are read as
binary, and the unit says so.
"""

from __future__ import annotations

import re

from kvlab.importers.blocks import Output
from kvlab.importers.figures import Figure, read_figure
from kvlab.importers.summary import KNOWN, READ

_PAGE_SIZE = re.compile(r"Mach Virtual Memory Statistics: \(page size of (\d{1,9}) bytes\)")
_PAGES = re.compile(r'\s*"?([A-Z][\w\- ]{1,60}?)"?:\s+(\d{1,17})\.?')
_SWAP = re.compile(r"vm\.swapusage: total = (\S+)\s+used = (\S+)\s+free = (\S+)")
_PRESSURE = re.compile(r"System-wide memory free percentage: (\d{1,3})%")
_GAUGES = {
    "pages free": "free",
    "pages active": "active_pages",
    "pages wired down": "wired",
    "pages occupied by compressor": "compressor",
    "swapins": "swapped_in",
    "swapouts": "swapped_out",
}


class VmStat:
    """Reads `vm_stat`, `vm.swapusage` and the pressure's percentage. `swapped_in` and `swapped_out` are totals since the machine started."""

    kind = "vm_stat"

    def __init__(self, output: Output) -> None:
        self._out = output
        self._page = 0

    def take(self, text: str) -> str | None:
        """Read a line; None when it is none of these tools'."""
        if found := _PAGE_SIZE.search(text):
            self._page = min(int(found[1]), 2**20)
            return KNOWN
        if found := _SWAP.search(text):
            for gauge, figure in zip(("swap_total", "swap_used", "swap_free"), map(read_figure, found.groups()), strict=True):
                _write(self._out, gauge, figure)
            return READ
        if found := _PRESSURE.search(text):
            self._out.number("free_share", int(found[1]) / 100)
            return READ
        if self._page and (found := _PAGES.fullmatch(text)):
            count = int(found[2])
            if count * self._page >= 2**63:
                return None
            name = found[1].lower()
            gauge = _GAUGES.get(name, name.removeprefix("pages ").replace(" ", "_").replace("-", "_"))
            self._out.figure(gauge, count * self._page, unit=f"pages of {self._page} B", step=self._page)
            return READ
        return None

    def end(self) -> None:
        """The block ends."""
        self._page = 0


_FOOTPRINT = re.compile(r"(.{1,120}?) \[(\d{1,9})\]:.*\bFootprint: (\S+ \S+)")
_CATEGORY = re.compile(r"\s*(\d\S*(?: [KMGT]?B)?)\s+(\d\S*(?: [KMGT]?B)?)\s+(\d\S*(?: [KMGT]?B)?)\s+(\d{1,9})\s+(\S.*)")
_AUXILIARY = re.compile(r"\s*(phys_footprint(?:_peak)?): (\S+ \S+)")


class Footprint:
    """Reads `footprint PID`: the process, its categories (dirty, clean, reclaimable), and its physical footprint now and at most."""

    kind = "footprint"

    def __init__(self, output: Output) -> None:
        self._out = output
        self._pid: int | None = None
        self._name = ""

    def take(self, text: str) -> str | None:
        """Read a line; None when it is not of a footprint."""
        if found := _FOOTPRINT.match(text):
            self._name, self._pid = found[1].strip(), int(found[2])
            self._out.rows.add("process_seen", self._pid, None, self._name, "", self._out.at)
            _write(self._out, "footprint", binary(found[3]), label=self._name, pid=self._pid)
            return READ
        if found := _AUXILIARY.fullmatch(text):
            gauge = "footprint_peak" if found[1].endswith("_peak") else "phys_footprint"
            _write(self._out, gauge, binary(found[2]), label=self._name, pid=self._pid)
            return READ
        if self._pid is None:
            return None
        if found := _CATEGORY.fullmatch(text):
            for gauge, cell in zip(("dirty", "clean", "reclaimable"), found.groups(), strict=False):
                _write(self._out, gauge, binary(cell), label=found[5], pid=self._pid)
            return READ
        if text.split()[:2] == ["Dirty", "Clean"] or text.startswith("Auxiliary data"):
            return KNOWN
        return None

    def end(self) -> None:
        """The block ends."""
        self._pid, self._name = None, ""


_PAIR = re.compile(r"([A-Z][A-Za-zÄÖÜäöüß \-]{1,30}): ?(.*?)(?=\s{2,}[A-Z][A-Za-zÄÖÜäöüß \-]{1,30}:|$)")
_PANE = {
    "Memory": "footprint",
    "Real Mem": "rss",
    "Real Memory": "rss",
    "Compressed": "compressed",
    "Physical Memory": "physical",
    "Memory Used": "memory_used",
    "Cached Files": "cached_files",
    "Swap Used": "swap_used",
    "App Memory": "app",
    "Wired Memory": "wired",
    "Memory Pressure": "pressure",
    "Speicher": "footprint",
    "Arbeitsspeicher": "footprint",
    "Realer Speicher": "rss",
    "Physikalischer Speicher": "rss",
    "Komprimierter Speicher": "compressed",
    "Komprimiert": "compressed",
    "Physischer Speicher": "physical",
    "Verwendeter Speicher": "memory_used",
    "Dateien im Cache": "cached_files",
    "Verwendeter Swap": "swap_used",
    "App-Speicher": "app",
    "Reservierter Speicher": "wired",
    "Speicherdruck": "pressure",
}


class ActivityMonitor:
    """Reads figures that were typed off Activity Monitor, several `Name: figure` pairs a line."""

    kind = "activity-monitor"

    def __init__(self, output: Output) -> None:
        self._out = output

    def take(self, text: str) -> str | None:
        """Read a line; None when none of its names is Activity Monitor's."""
        pairs = {name.strip(): value.strip() for name, value in _PAIR.findall(text)}
        if not any(name in _PANE for name in pairs):
            return None
        label, number = pairs.get("Process Name") or pairs.get("Prozessname", ""), pairs.get("PID", "")
        pid = int(number) if number.isdecimal() and len(number) < 10 else None
        if pid is not None:
            self._out.rows.add("process_seen", pid, None, label, "", self._out.at)
        taken = False
        for name, value in pairs.items():
            gauge, figure = _PANE.get(name), binary(value)
            if gauge == "pressure":
                self._out.words(gauge, value)
                taken = True
            elif gauge is not None and figure is not None and figure.observed is not None:
                _write(self._out, gauge, figure, label=label, pid=pid)
                taken = True
        return READ if taken else None

    def end(self) -> None:
        """The block ends."""


def binary(text: str) -> Figure | None:
    """Return a figure whose KB, MB and GB are powers of 1024, as these tools print them."""
    figure = read_figure(re.sub(r"(?<=[KMGT])B\b", "", text))
    if figure is None or figure.observed is None:
        return None
    return Figure(figure.observed, None, f"{figure.unit}B of 1024" if figure.unit in "KMGT" and figure.unit else figure.unit, figure.step)


def _write(output: Output, gauge: str, figure: Figure | None, *, label: str = "", pid: int | None = None) -> None:
    if figure is not None and figure.observed is not None:
        output.figure(gauge, figure.observed, unit=figure.unit, step=figure.step, label=label, pid=pid)
