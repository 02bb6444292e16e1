"""JSON answers: those of `GET /api/ps`, by code, and those whose shape a format describes."""

from __future__ import annotations

from typing import Any, cast

from kvlab.errors import KvlabError
from kvlab.importers.api_ps import OTHER, ApiPs
from kvlab.importers.engine import Engine
from kvlab.importers.formats import Answer, formats
from kvlab.importers.json_text import values
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock
from kvlab.importers.summary import KNOWN, NOT, READ, Summary

MOST = 10_000
"""Objects of one answer."""


class Answers:
    """Reads answers into rows.

    Attributes:
        taken: Of the last text, the keys and values that were taken, and as what.
    """

    def __init__(self, rows: Rows, summary: Summary, engine: Engine, clock: Clock) -> None:
        self._summary = summary
        self._engine = engine
        self._models = ApiPs(rows, summary)
        self._models.clock = clock
        self.taken: list[tuple[str, str, str]] = []

    @property
    def model(self) -> str:
        """The first model that a list named; "" when none."""
        return self._models.model

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
        if only in (None, "api-ps"):
            self._engine.end_block()
            name, became = self._models.take(cast("dict[str, Any]", value))
            if name != OTHER:
                self._summary.count(name, became, text)
                return "api-ps"
        told = cast("dict[str, Any]", value)
        read = [answer for one in formats().values() if only in (None, one.name) for answer in one.answers if self._fits(answer, told)]
        became = [self._read(answer, told) for answer in read]
        if not read:
            return None
        self._summary.count(read[0].format, READ if READ in became else KNOWN, text)
        return read[0].format

    def _fits(self, answer: Answer, told: dict[str, Any]) -> bool:
        return all(key in told for key in answer.has) and all(
            str(_at(told, path.partition("=")[0])) == path.partition("=")[2] for path in answer.fields if "=" in path
        )

    def _read(self, answer: Answer, told: dict[str, Any]) -> str:
        each = _at(told, answer.each) if answer.each else [told]
        became = NOT
        for one in cast("list[Any]", each)[:MOST] if isinstance(each, list) else []:
            if isinstance(one, dict):
                fields = {name: _text(_at(cast("dict[str, Any]", one), path)) for path, name in answer.fields.items() if "=" not in path}
                self.taken += [(path.rpartition(".")[2], fields[name], name) for path, name in answer.fields.items() if fields.get(name)]
                if self._engine.read(answer, {name: text for name, text in fields.items() if text}) == READ:
                    became = READ
        return became


def _at(value: Any, path: str) -> Any:
    """Return what stands at a path of keys; None when nothing does."""
    for key in path.split("."):
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value


def _text(value: Any) -> str:
    return "" if value is None or isinstance(value, bool | list | dict) else str(value)[:300]
