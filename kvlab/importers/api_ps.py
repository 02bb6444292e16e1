"""The answer of `GET /api/ps`, alone, in a list, or as lines `{"ts": …, "body": …}` of a watching script. Sizes are whole bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock, find_moment, zoned
from kvlab.importers.summary import NOT, READ, Summary
from kvlab.units import LARGEST

MOST_MODELS = 1_000

WRONG = "answer of /api/ps with a figure that is none"
OTHER = "JSON of another shape"


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that the server says it has loaded; bytes are None when it does not tell them.

    Attributes:
        name: Its name.
        size: Bytes it takes; for an MLX model the allocator's active bytes and its pool.
        size_vram: Those of them on the GPU.
        digest: Which weights.
        context: Its context length in tokens.
        expires_at: When it will be unloaded, as the server writes it.
        format: How its weights are stored.
    """

    name: str
    size: int | None = None
    size_vram: int | None = None
    digest: str = ""
    context: int | None = None
    expires_at: str = ""
    format: str = ""


def model_in(row: dict[str, Any]) -> ListedModel:
    """Return a model of an answer of /api/ps or /api/tags; its name is "" when it has none."""
    details = row.get("details")
    told = cast("dict[str, Any]", details) if isinstance(details, dict) else {}
    return ListedModel(
        name=_words(row.get("name")) or _words(row.get("model")),
        size=_count(row.get("size")),
        size_vram=_count(row.get("size_vram")),
        digest=_words(row.get("digest")),
        context=_count(row.get("context_length")),
        expires_at=_words(row.get("expires_at")),
        format=_words(told.get("format")),
    )


def wrong_figures(row: dict[str, Any]) -> tuple[str, ...]:
    """Return which of a model's bytes are told but are no number of bytes: NaN, below 0, words, a list."""
    return tuple(name for name in ("size", "size_vram") if row.get(name) is not None and _count(row[name]) is None)


class ApiPs:
    """Reads answers; each is one listing.

    Attributes:
        clock: Turns moments into seconds.
        model: The first model that was named.
    """

    def __init__(self, rows: Rows, summary: Summary) -> None:
        self._rows = rows
        self._summary = summary
        self.clock = Clock()
        self.model = ""
        self._wrong = self._told = False

    def take(self, value: Any) -> tuple[str, str]:
        """Read one value; return what it is called in the summary, and what became of it."""
        if not (isinstance(value, dict) and self._answer(cast("dict[str, Any]", value))):
            return OTHER, NOT
        if not self._wrong:
            return "answer of /api/ps", READ
        self._summary.partly += self._told
        return WRONG, NOT

    def _answer(self, answer: dict[str, Any]) -> bool:
        """Read one answer; return False when it is of another shape."""
        moment = zoned(find_moment(str(answer.get("ts") or answer.get("time") or answer.get("at") or "")), self.clock.first)
        body: Any = answer.get("body", answer)
        models: Any = cast("dict[str, Any]", body).get("models") if isinstance(body, dict) else None
        if not isinstance(models, list):
            return False
        self._wrong = self._told = False
        if moment:
            self._rows.t = self.clock.read(moment)
        named = [cast("dict[str, Any]", one) for one in cast("list[Any]", models)[:MOST_MODELS] if isinstance(one, dict)]
        if not named:
            self._rows.add("listed", 0, "", "", None, "", moment)
        for model in named:
            self._model(model, len(named), moment)
        return True

    def _model(self, row: dict[str, Any], count: int, moment: str) -> None:
        model = model_in(row)
        self._wrong = self._wrong or bool(wrong_figures(row))
        self.model = self.model or model.name
        self._rows.add("listed", count, model.name, model.digest[:64], model.context, model.expires_at[:40], moment)
        for gauge, size in (("size", model.size), ("size_vram", model.size_vram)):
            if size is not None:
                self._told = True
                self._rows.add("observed", gauge, model.name, size, None, None, "B", 1, None, moment)


def _words(value: Any) -> str:
    return value[:200] if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    # a figure that is no number is not within these either
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST else None
