"""The answer of `GET /api/ps`, alone, in a list, or as lines `{"ts": …, "body": …}` of a watching script. Sizes are whole bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from kvlab.importers.stamps import find_moment
from kvlab.units import LARGEST

MOST_MODELS = 1_000


@dataclass(frozen=True, slots=True)
class ListedModel:
    """A model that the server says it has loaded; bytes are None when it does not name them.

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
    more = cast("dict[str, Any]", details) if isinstance(details, dict) else {}
    return ListedModel(
        name=_words(row.get("name")) or _words(row.get("model")),
        size=_count(row.get("size")),
        size_vram=_count(row.get("size_vram")),
        digest=_words(row.get("digest")),
        context=_count(row.get("context_length")),
        expires_at=_words(row.get("expires_at")),
        format=_words(more.get("format")),
    )


def wrong_figures(row: dict[str, Any]) -> tuple[str, ...]:
    """Return which of a model's bytes are given but are no number of bytes: NaN, below 0, words, a list."""
    return tuple(name for name in ("size", "size_vram") if row.get(name) is not None and _count(row[name]) is None)


def listing_in(answer: dict[str, Any]) -> tuple[str, list[dict[str, Any]]] | None:
    """Return an answer's moment, "" when it names none, and its models; None when it is of another shape."""
    body: Any = answer.get("body", answer)
    models: Any = cast("dict[str, Any]", body).get("models") if isinstance(body, dict) else None
    if not isinstance(models, list):
        return None
    moment = find_moment(str(answer.get("ts") or answer.get("time") or answer.get("at") or ""))
    return moment, [cast("dict[str, Any]", one) for one in cast("list[Any]", models)[:MOST_MODELS] if isinstance(one, dict)]


def _words(value: Any) -> str:
    return value[:200] if isinstance(value, str) else ""


def _count(value: Any) -> int | None:
    # a figure that is no number is not within these either
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= LARGEST else None
