"""`ollama ps` as text: `NAME ID SIZE PROCESSOR CONTEXT UNTIL`, again and again.

SIZE is in decimal units and cut, not rounded, to whole GB from 10 GB up. An empty table says that nothing is loaded. A model that is named again under
one heading begins a new listing: somebody pasted several readings together.
"""

from __future__ import annotations

import re

from kvlab.importers.blocks import Output
from kvlab.importers.figures import read_figure
from kvlab.importers.summary import KNOWN, READ

_GAP = re.compile(r"\s{2,}|\t")


class OllamaPs:
    """Reads listings."""

    kind = "ollama-ps"

    def __init__(self, output: Output) -> None:
        self._out = output
        self._titles: list[str] = []
        self._listing: list[dict[str, str]] = []
        self._listed = False

    def take(self, text: str) -> str | None:
        """Read a line; None when it is not of a listing."""
        cells = _GAP.split(text.strip())
        if cells[0] == "NAME" and "SIZE" in cells:
            self.end()
            self._titles, self._listed = cells, True
            return KNOWN
        if not self._titles or len(cells) < 3:
            return None
        row = dict(zip(self._titles, cells, strict=False))
        figure = read_figure(row.get("SIZE", ""))
        if figure is None or figure.observed is None:
            return None
        if any(one["NAME"] == row["NAME"] for one in self._listing):
            self._write()
        self._listing.append(row)
        return READ

    def end(self) -> None:
        """Write the listing that waits."""
        if self._listed or self._listing:
            self._write()
        self._titles, self._listed = [], False

    def _write(self) -> None:
        out, count = self._out, len(self._listing)
        if not count:
            out.rows.add("listed", 0, "", "", None, "", out.at)
        for row in self._listing:
            name, figure = row["NAME"], read_figure(row["SIZE"])
            context = row.get("CONTEXT", "")
            out.model = out.model or name
            out.rows.add(
                "listed", count, name, row.get("ID", ""), int(context) if context.isdecimal() and len(context) < 18 else None, row.get("UNTIL", ""), out.at
            )
            if figure is not None and figure.observed is not None:
                out.figure("size", figure.observed, unit=figure.unit, step=figure.step, label=name)
            if processor := row.get("PROCESSOR"):
                out.words("processor", processor, label=name)
        self._listing, self._listed = [], False
