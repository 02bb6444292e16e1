"""Peaks by prompt length, as they are collected out of a log: `peak memory  pp1024:    20.91 GiB   <- a remark`."""

from __future__ import annotations

import re

from kvlab.importers.blocks import Output
from kvlab.importers.figures import read_figure
from kvlab.importers.summary import READ

_LINE = re.compile(r"\s*peak memory\s+pp(\d{1,12}):\s+(\S+ ?[KMGT]?i?B)\b(?:\s*(?:<-|#)\s*(.*))?")


class PeakLadder:
    """Reads one request a line: its prompt's length and its peak. A remark becomes a warning."""

    kind = "peak-ladder"

    def __init__(self, output: Output) -> None:
        self._out = output

    def take(self, text: str) -> str | None:
        """Read a line; None when it is none of these."""
        found = _LINE.fullmatch(text)
        figure = read_figure(found[2]) if found else None
        if found is None or figure is None or figure.observed is None:
            return None
        rows = self._out.rows
        rows.began("", int(found[1]))
        if found[3]:
            rows.add("warned", found[3].strip()[:300])
        rows.add("request_closed", None, None, None, None, figure.observed, None)
        rows.request = 0
        return READ

    def end(self) -> None:
        """The ladder ends."""
