"""Triggers: the requests that bring one defect out, and both arms of it, as `data/triggers.toml` gives them.

The arms differ in one choice of the policy and in nothing else.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec import Struct, field

from kvlab import shipped
from kvlab.lab import Source
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.shape import Shape
from kvlab.studies.faults import figures, models
from kvlab.studies.faults.arms import Figures, Shown
from kvlab.studies.faults.catalogue import CATALOGUE
from kvlab.typed_json import typed
from kvlab.workloads import Request, Workload
from kvlab.workloads.request import MediaItem

Span = int | str
"""A token, or a run of them with both ends: `1..5`, `9..4`."""


class _Sent(Struct, frozen=True, forbid_unknown_fields=True):
    """A request: its tokens and its reply, where its prefill is cancelled, and positions [start, end) of a media item."""

    tokens: list[Span]
    reply: list[Span] = []
    cancel: int | None = None
    media: tuple[int, int] | None = None

    def request(self) -> Request:
        items = (MediaItem(*self.media, fold=2**31 + 5),) if self.media else ()
        return Request(tokens=tuple(_tokens(self.tokens)), generated=tuple(_tokens(self.reply)), cancel_after=self.cancel, media=items, label="sent")


class _Row(Struct, frozen=True, forbid_unknown_fields=True):
    fault: str
    model: str
    look: str
    read: list[str]
    policy: dict[str, Any] = field(default_factory=dict[str, Any])
    budget_tokens: int = 0
    budget_states: int = 0
    requests: list[_Sent] = []
    values: tuple[int, int] | None = None
    both: str = ""


class _File(Struct, frozen=True, forbid_unknown_fields=True):
    twin: list[_Row]
    arrays: list[_Row]


@dataclass(frozen=True, slots=True)
class Trigger:
    """How to bring one defect out.

    Attributes:
        row: Its entry of the file: `fault` is the id; `model` one of models.py; `policy` what both arms share, next to a budget of so many tokens or whole
            states; `read` the figures of an arm (figures.py), some of a request by its number; `both` those of both arms together; `look` what to look at,
            in a sentence; `values` the field's values in the fault arm and in the cured one, where they are not the catalogue's.
        requests: The requests.
    """

    row: _Row
    requests: Sequence[Request]

    @property
    def fault(self) -> str:
        """The entry's id."""
        return self.row.fault

    @property
    def values(self) -> tuple[int, int] | None:
        """The field's values in both arms; None for the catalogue's."""
        return self.row.values

    def open(self) -> Source:
        """Open the model that it runs on: a twin, or a lab."""
        return getattr(models, self.row.model)()

    def policies(self, shape: Shape) -> tuple[Policy, Policy]:
        """Return the choices of the fault arm and of the cured one, for a model of `shape`."""
        entry = CATALOGUE[self.fault]
        base = Policy.from_dict(self.row.policy)
        if budget := self.row.budget_tokens * shape.bytes_per_token + self.row.budget_states * shape.state_bytes:
            base = base.replace(budget_bytes=budget)
        bad, good = self.values or (entry.fault, entry.cure)
        return base.replace(**{entry.field: bad}), base.replace(**{entry.field: good})

    def read(self, recording: Recording) -> Figures:
        """Read an arm's figures."""
        found: Figures = {}
        for text in self.row.read:
            name, _, request = text.partition(" ")
            found |= getattr(figures, name)(recording, *([int(request)] if request else []))
        return found

    def run(self) -> Shown:
        """Run both arms, each from an empty cache; on the twin every rule is checked after every step."""
        source = self.open()
        on_twin = source.source == "twin"
        work, policies = Workload(self.fault, tuple(self.requests)), self.policies(source.shape)
        bad, good = (source.run(work, policy, check=on_twin, progress=False) for policy in policies)
        both: Callable[..., Figures] | None = getattr(figures, self.row.both) if self.row.both else None
        return Shown.of(
            self.fault,
            "the twin" if on_twin else f"{source.name}'s arrays",
            self.row.look,
            [(policy, self.read(made), made) for policy, made in zip(policies, (bad, good), strict=True)],
            both(bad, good, source.shape) if both else {},
        )


def sent(tokens: Sequence[int], reply: Sequence[int] = (), cancel: int | None = None) -> Request:
    """Return a request with given tokens and a given reply, perhaps cancelled at a position of its prefill."""
    return Request(tokens=tuple(tokens), generated=tuple(reply), cancel_after=cancel, label="sent")


def _tokens(spans: Sequence[Span]) -> Iterator[int]:
    for span in spans:
        if isinstance(span, int):
            yield span
        else:
            first, last = map(int, span.split(".."))
            yield from range(first, last + 1) if first <= last else range(first, last - 1, -1)


_ROWS = typed(tomllib.loads(shipped.data("triggers.toml").read_text(encoding="utf-8")), _File, "data/triggers.toml")

TWIN = {row.fault: Trigger(row, tuple(one.request() for one in row.requests)) for row in _ROWS.twin}
"""The triggers on the twin, by id."""

ARRAYS = {row.fault: Trigger(row, tuple(one.request() for one in row.requests) or TWIN[row.fault].requests) for row in _ROWS.arrays}
"""The triggers on real arrays, by id."""
