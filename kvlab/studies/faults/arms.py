"""Arms: one trigger run twice, under two policies that differ in one choice, and what differs then. Shown as text, as JSON, as pictures."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvlab.findings.finding import number_words
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.shape import Shape
from kvlab.studies.faults.catalogue import CATALOGUE, Fault
from kvlab.views import text_table

Figures = dict[str, Any]
"""What one arm shows: names with their unit (`_bytes`, `_tokens`, `_request`) and plain values."""

FAULT, CURED = "fault", "cured"


@dataclass(frozen=True, slots=True)
class Arm:
    """One arm.

    Attributes:
        name: `fault` or `cured`.
        policy: The choices it ran under; None for what is not the engine's (mlx-lm's own class).
        figures: What it shows.
        recording: Its run; None when nothing was recorded.
    """

    name: str
    policy: Policy | None
    figures: Figures
    recording: Recording | None = None


@dataclass(frozen=True, slots=True)
class Shown:
    """A defect seen happening, and not happening.

    Attributes:
        fault: The entry of the catalogue.
        where: `twin`, or which model's arrays.
        arms: The fault arm and the cured one.
        look: What to look at, in a sentence.
        more: Figures that hold for both arms together, such as a ratio that was predicted.
    """

    fault: Fault
    where: str
    arms: tuple[Arm, Arm]
    look: str
    more: Figures

    @classmethod
    def of(cls, fault: str, where: str, look: str, arms: Sequence[tuple[Policy | None, Figures, Recording | None]], more: Figures | None = None) -> Shown:
        """Return a defect by its id, shown by two arms, the fault arm first: the policy, the figures and the recording of each."""
        bad, good = (Arm(name, *arm) for name, arm in zip((FAULT, CURED), arms, strict=True))
        return cls(CATALOGUE[fault], where, (bad, good), look, more or {})

    @property
    def diff(self) -> dict[str, tuple[Any, Any]]:
        """The choices in which the arms differ and that a layer of their model follows, each as (the fault arm's, the cured arm's)."""
        first, second = (arm.policy for arm in self.arms)
        if first is None or second is None:
            return {}
        shapes = [arm.recording.manifest.shape for arm in self.arms if arm.recording is not None]
        return first.diff(second, Shape.from_dict(shapes[0]) if shapes and shapes[0] else None)

    def figures(self, arm: str) -> Figures:
        """Return the figures of an arm by its name."""
        return next(one.figures for one in self.arms if one.name == arm)

    def recording(self, arm: str) -> Recording:
        """Return the recording of an arm by its name."""
        found = next(one.recording for one in self.arms if one.name == arm)
        if found is None:
            raise LookupError(f"the {arm} arm of {self.fault.id} was not recorded")
        return found

    def arms_to_dict(self) -> list[dict[str, Any]]:
        """Return the arms as JSON holds them."""
        return [
            {
                "arm": arm.name,
                "where": self.where,
                "policy": arm.policy.to_dict() if arm.policy is not None else None,
                "figures": {**arm.figures, **self.more},
            }
            for arm in self.arms
        ]

    def text(self) -> str:
        """Return the figures of both arms as lines, those that differ marked and with their ratio."""
        fault, cured = (arm.figures for arm in self.arms)
        names = list(dict.fromkeys((*fault, *cured)))
        rows = [_row(name, fault.get(name), cured.get(name)) for name in names]
        table = textwrap.indent(text_table.columns(_HEAD, rows, left=range(4)), "  ")
        more = [f"  {name}: {_words(name, value)}" for name, value in self.more.items()]
        return "\n".join([f"on {self.where}: {self.look}", table, *more])

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return self.text()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        # IPython's hook: a card of text, and the two recordings side by side
        del include, exclude
        named = [(arm.name, arm.recording) for arm in self.arms if arm.recording is not None and arm.recording.bytes.height]
        bundle: dict[str, Any] = {"text/plain": f"{self.fault.id}: {self.fault.name}\n{self.text()}"}
        return bundle | ({"image/png": _side_by_side(named)} if len(named) == len(self.arms) else {})


_WIDTH = 400
"""Of each chart, in pixels."""

_MOST_SHOWN = 8
_HEAD = ("", "fault arm", "cured arm", "fault / cured")


def _row(name: str, fault: Any, cured: Any) -> tuple[str, str, str, str]:
    mark = "* " if fault != cured else "  "
    ratio = f"{fault / cured:.3g}" if fault != cured and _is_number(fault) and _is_number(cured) and cured else ""
    return mark + name, _words(name, fault), _words(name, cured), ratio


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _words(name: str, value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_words(str(key), one)}" for key, one in value.items())  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if not isinstance(value, list):
        return number_words(name, value)
    each: list[str] = [_words(name, one) for one in value]  # pyright: ignore[reportUnknownVariableType]
    if len(each) > _MOST_SHOWN:
        each = [*each[:2], "…", *each[-2:], f"({len(each)})"]
    return ("; " if any(isinstance(one, dict) for one in value) else ", ").join(each) or "none"  # pyright: ignore[reportUnknownVariableType]


def _side_by_side(named: list[tuple[str, Recording]]) -> bytes:
    """Return a PNG of the recordings' bytes by owner, each under its name."""
    import altair as alt

    from kvlab.views import static
    from kvlab.views.bytes_chart import bytes_chart, chart_table
    from kvlab.views.tables import readings

    charts: list[Any] = [bytes_chart(recording).properties(width=_WIDTH, title=f"{name} arm: bytes by owner") for name, recording in named]
    units = {chart_table(readings(recording))[1] for _, recording in named}
    # one axis for both, unless their units differ
    both: Any = alt.hconcat(*charts, spacing=24)
    both = both.resolve_scale(y="shared" if len(units) == 1 else "independent")
    return static.png(both, scale=1)
