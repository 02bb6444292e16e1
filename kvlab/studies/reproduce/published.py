"""What was published: one file of `data/published/` an experiment, figures in our own words with their source.

A figure's `expected` is the verdict it has to get; an `unexplained` one stays so, with what was tried in its `note`.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from typing import Any, cast

from kvlab import shipped
from kvlab.errors import BadValue, UnreadableInput

FOLDER = "published"
VERDICTS = ("exact", "within", "unexplained")
"""The verdicts, the best first."""

TRIED = "Tried: "
"""In the note of an unexplained figure: after it stands what was tried."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One published figure.

    Attributes:
        id: Its name within the experiment.
        figure: What it is, in words.
        low: The figure, or the lower end of a published range.
        high: The figure, or the upper end.
        unit: Its unit; "" for a count.
        compared: Which of our figures stands beside it: `reported` (weights + live + paged out + pool, a shared state once: what `ollama ps` shows), `retained`
            (what all owners keep alive, with what is pinned), `level` (the highest sum of all owners in a request) and others by their names.
        expected: The verdict it has to get.
        decimals: Decimals its source prints.
        cut: The source cuts decimals off instead of rounding (`ollama ps` from 10 GB up).
        tolerance: How far ours may be, in the unit; None where nothing but the printed figure will do.
        tolerance_percent: The same as a share, where it was given so.
        reason: Why that far.
        note: What else has to be said; of an unexplained figure what was tried, after `TRIED`.
    """

    id: str
    figure: str
    low: float
    high: float
    unit: str
    compared: str
    expected: str
    decimals: int = 0
    cut: bool = False
    tolerance: float | None = None
    tolerance_percent: float | None = None
    reason: str = ""
    note: str = ""

    def shown(self, value: float) -> str:
        """Return a value as the figure's source would print it, without the unit."""
        text = f"{int(value)}" if self.cut else f"{value:.{self.decimals}f}"
        return text.removeprefix("-") if float(text) == 0 else text

    @property
    def margin(self) -> str:
        """The tolerance in words; "" when there is none."""
        if self.tolerance_percent is not None:
            return f"{self.tolerance_percent:g} %"
        return "" if self.tolerance is None else f"{self.tolerance:g} {self.unit}".rstrip()

    @property
    def text(self) -> str:
        """The published figure as it was printed, with its unit."""
        both = self.shown(self.low) if self.low == self.high else f"{self.shown(self.low)} to {self.shown(self.high)}"
        return f"{both} {self.unit}".rstrip()


@dataclass(frozen=True, slots=True)
class Published:
    """A published experiment: its name, where it was published, what was done, and its figures."""

    name: str
    source: str
    about: str
    figures: tuple[Figure, ...]

    def value(self, figure: str) -> float:
        """Return a published figure by its id."""
        return next(one.low for one in self.figures if one.id == figure)


def published(name: str) -> Published:
    """Return one experiment as it was published.

    Raises:
        BadValue: there is none of that name.
        UnreadableInput: its file is damaged.
    """
    path = shipped.data(FOLDER) / f"{name}.json"
    if not name.isalnum() or not path.is_file():
        raise unknown(name)
    try:
        held = json.loads(path.read_text(encoding="utf-8"))
        return Published(held["experiment"], held["source"], held["about"], tuple(_figure(one) for one in held["figures"]))
    except (ValueError, KeyError, TypeError) as error:
        raise UnreadableInput(f"{path} holds no published figures", str(error), "install kvlab again") from error


def unknown(name: str, names: tuple[str, ...] = ()) -> BadValue:
    """Return the error for a name that is no experiment; `names` are those there are, by default the files."""
    known = names or tuple(sorted(path.stem for path in shipped.data(FOLDER).glob("*.json")))
    near = difflib.get_close_matches(name.upper(), known, n=1)
    return BadValue(
        what=f"there is no published experiment {name!r}",
        why=f"there are {', '.join(known)}",
        hint=f"did you mean {near[0]}?" if near else f"write for example {known[0]}",
    )


def _figure(held: dict[str, Any]) -> Figure:
    rest = dict(held)
    value = rest.pop("value")
    low, high = cast("list[float]", value) if isinstance(value, list) else (value, value)
    if "tolerance_percent" in rest:
        rest["tolerance"] = abs(high) * rest["tolerance_percent"] / 100
    made = Figure(low=float(low), high=float(high), **rest)
    has_tolerance = made.tolerance is not None and bool(made.reason)
    says_what_was_tried = made.expected != "unexplained" or TRIED in made.note
    if not made.compared or made.expected not in VERDICTS or has_tolerance != (made.expected == "within") or not says_what_was_tried:
        msg = f"figure {made.id}: it says what it is compared with; within a tolerance, that and its reason; unexplained, what was tried"
        raise ValueError(msg)
    return made
