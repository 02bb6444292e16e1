"""Where a figure of a shape comes from: a fact that somebody can look up, a fit to published figures, or a guess, each with its source in words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from kvlab.errors import BadValue
from kvlab.shape import Shape

FACT, FITTED, GUESS = STATUSES = ("fact", "fitted", "guess")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where one figure comes from.

    Attributes:
        status: `fact` (read off a file, a program or a public source), `fitted` (chosen so that published figures come out, which the source names) or
            `guess` (recalled without a source, or filled in).
        source: The source in words.
    """

    status: str
    source: str

    def __post_init__(self) -> None:
        if self.status not in STATUSES:
            raise BadValue(what=f"a provenance of status {self.status!r}", why=f"it is one of {', '.join(STATUSES)}", hint="correct the status")

    def __str__(self) -> str:
        return f"{self.status}: {self.source}"


@dataclass(frozen=True, slots=True)
class SourcedShape:
    """A shape with where its figures come from.

    Attributes:
        shape: The shape.
        provenance: By layer kind (the prices of its groups), and by `weights_bytes`, `context`, `look_ahead`.
    """

    shape: Shape
    provenance: Mapping[str, Provenance] = field(default_factory=dict[str, Provenance])

    def to_dict(self) -> dict[str, Any]:
        """Return both as a shape's file holds them."""
        return self.shape.to_dict() | {"provenance": {name: {"status": one.status, "source": one.source} for name, one in self.provenance.items()}}


def provenance_from(data: object) -> dict[str, Provenance]:
    """Return the provenance that a shape's file holds under that name; an empty one when there is none.

    Raises:
        BadValue: an entry has no status or source, or an unknown status.
    """
    if not isinstance(data, dict):
        return {}
    found: dict[str, Provenance] = {}
    for name, entry in cast("dict[str, Any]", data).items():
        try:
            found[name] = Provenance(status=entry["status"], source=entry["source"])
        except (KeyError, TypeError):
            raise BadValue(what=f"provenance of {name} is {entry!r}", why="it is an object with status and source", hint="correct the entry") from None
    return found
