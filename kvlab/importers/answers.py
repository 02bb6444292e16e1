"""JSON answers: those of `GET /api/ps`, by code, and those whose shape a format describes."""

from __future__ import annotations

from typing import Any, cast

from kvlab.errors import KvlabError
from kvlab.importers.api_ps import listing_in, model_in, wrong_figures
from kvlab.importers.engine import Engine
from kvlab.importers.formats import Answer, formats
from kvlab.importers.json_text import values
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock, zoned
from kvlab.importers.summary import KNOWN, NOT, READ, Summary

MOST = 10_000
"""Objects of one answer."""


class Answers:
    """Reads answers into rows.

    Attributes:
        model: The first model that a list named; "" when none.
        taken: Of the last text, the keys and values that were taken, and as what.
    """

    def __init__(self, rows: Rows, summary: Summary, engine: Engine, clock: Clock) -> None:
        self._rows = rows
        self._clock = clock
        self._summary = summary
        self._engine = engine
        self.model = ""
        self.taken: list[tuple[str, str, str]] = []

    def take(self, text: str, only: str | None) -> str | None:
        """Read the values of a JSON text; return the format of what was read, None when it is no JSON or of no shape that is known."""
        try:
            found = values(text.encode(), "an answer")
        except KvlabError:
            return None
        known: str | None = None
        self.taken = [(name, "", name) for name in ("size", "size_vram", "context_length")]
        for value in found:
            for one in cast("list[Any]", value) if isinstance(value, list) else [value]:
                name = self._one(one, only, text)
                known = known or name
        return known

    def _one(self, value: Any, only: str | None, text: str) -> str | None:
        if not isinstance(value, dict):
            return None
        outer = cast("dict[str, Any]", value)
        if only in (None, "api-ps"):
            self._engine.end_block()
            if (listing := listing_in(outer)) is not None:
                self._listed(*listing, text)
                return "api-ps"
        read = [answer for one in formats().values() if only in (None, one.name) for answer in one.answers if self._fits(answer, outer)]
        became = [self._read(answer, outer) for answer in read]
        if not read:
            return None
        self._summary.count(read[0].format, READ if READ in became else KNOWN, text)
        return read[0].format

    def _listed(self, moment: str, models: list[dict[str, Any]], text: str) -> None:
        rows, at, figures = self._rows, zoned(moment, self._clock.first), 0
        if at:
            rows.t = self._clock.read(at)
        if not models:
            rows.add("listed", 0, "", "", None, "", at)
        for model in map(model_in, models):
            self.model = self.model or model.name
            rows.add("listed", len(models), model.name, model.digest[:64], model.context, model.expires_at[:40], at)
            for gauge, size in (("size", model.size), ("size_vram", model.size_vram)):
                if size is not None:
                    figures += 1
                    rows.add("observed", gauge, model.name, size, None, None, "B", 1, None, at)
        if any(map(wrong_figures, models)):
            self._summary.partly += figures > 0
            self._summary.count("answer of /api/ps with a figure that is none", NOT, text)
        else:
            self._summary.count("answer of /api/ps", READ, text)

    def _fits(self, answer: Answer, outer: dict[str, Any]) -> bool:
        return all(key in outer for key in answer.has) and all(
            str(_at(outer, path.partition("=")[0])) == path.partition("=")[2] for path in answer.fields if "=" in path
        )

    def _read(self, answer: Answer, outer: dict[str, Any]) -> str:
        each = _at(outer, answer.each) if answer.each else [outer]
        became = NOT
        for one in cast("list[Any]", each)[:MOST] if isinstance(each, list) else []:
            if isinstance(one, dict):
                fields = {name: _text(_at(cast("dict[str, Any]", one), path)) for path, name in answer.fields.items() if "=" not in path}
                self.taken += [(path.rpartition(".")[2], fields[name], name) for path, name in answer.fields.items() if fields.get(name)]
                if self._engine.read(answer, {name: text for name, text in fields.items() if text}) == READ:
                    became = READ
        return became


def _at(value: Any, path: str) -> Any:
    """Return what is at a path of keys; None when nothing is."""
    for key in path.split("."):
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    return "" if value is None or isinstance(value, bool | list | dict) else str(value)[:300]
