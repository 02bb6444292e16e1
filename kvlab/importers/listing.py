"""A server's list of the models it has loaded, as a tool prints it: rows that belong together, of which the events must say how many there are.

A model that is named again under one heading begins a new listing: somebody pasted several readings together. An empty list says that nothing is loaded.
"""

from __future__ import annotations

from kvlab.importers.figures import read_figure
from kvlab.importers.rows import Output


class Listing:
    """Rows of a list that is being read."""

    __slots__ = ("_begun", "_output", "_rows")

    def __init__(self, output: Output) -> None:
        self._output = output
        self._rows: list[dict[str, str]] = []
        self._begun = False

    def add(self, fields: dict[str, str]) -> None:
        """Add a row; one without a model is the heading of a new list."""
        model = fields.get("model")
        if model is None:
            self.end()
            self._begun = True
            return
        if any(row["model"] == model for row in self._rows):
            self._write()
        self._rows.append(fields.copy())
        # its figures are written with the list, when their number is known
        for name in ("size", "processor", "context"):
            fields.pop(name, None)

    def end(self) -> None:
        """Write the list that waits."""
        if self._begun or self._rows:
            self._write()
        self._begun = False

    def _write(self) -> None:
        out, count = self._output, len(self._rows)
        if not count:
            out.rows.add("listed", 0, "", "", None, "", out.at)
        for row in self._rows:
            name, figure, context = row["model"], read_figure(row.get("size", "")), row.get("context", "")
            out.model = out.model or name
            whole = int(context) if context.isdecimal() and len(context) < 18 else None
            out.rows.add("listed", count, name, row.get("digest", ""), whole, row.get("until", ""), out.at)
            if figure is not None and figure.observed is not None:
                out.figure("size", figure.observed, unit=figure.unit, step=figure.step, label=name)
            if processor := row.get("processor"):
                out.words("processor", processor, label=name)
        self._rows, self._begun = [], False
