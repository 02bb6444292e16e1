"""What was published: one file of `data/published/` an experiment, figures in our own words with their source.

A figure's `expected` is the verdict it has to get; an `unexplained` one stays so, with what was tried in its `note`. Its `proof` says what a row proves:

- `predicted`: no published figure of its report went into ours, or its `fit` used other figures of that report and not this one (held out).
- `fitted`: a constant or a choice was taken so that the figures its `fit` names come out.
- `given`: ours repeats an input.
- `by construction`: ours agrees whatever the rules of the cache are, so that it agrees proves nothing of them.
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

PREDICTED, FITTED, GIVEN, BY_CONSTRUCTION = PROOFS = ("predicted", "fitted", "given", "by construction")
"""What a row proves, the most first."""

TRIED = "Tried: "
"""In the note of an unexplained figure: what was tried follows it."""


@dataclass(frozen=True, slots=True)
class Fit:
    """A constant or a choice that was taken from published figures of the report it is used for.

    Attributes:
        what: What was taken, and how.
        figures: The ids of the figures it was taken from; in words where a figure has no row.
    """

    what: str
    figures: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.what}, taken from {', '.join(self.figures)}"


@dataclass(frozen=True, slots=True)
class Figure:
    """One published figure.

    Attributes:
        id: Its name within the experiment.
        figure: What it is, in words.
        low: The figure, or the lower end of a published range.
        high: The figure, or the upper end.
        unit: Its unit; "" for a count.
        compared: Which of our figures it is compared with: `reported` (weights + live + paged out + pool, a shared state once: what `ollama ps` shows),
            `retained` (what all owners keep alive, with what is pinned), `level` (the highest sum of all owners in a request) and others by their names.
        expected: The verdict it has to get.
        proof: What the row proves, one of `PROOFS`.
        fit: The fit that ours depends on; None when no published figure of its report went in.
        because: Why the row is `given` or `by construction`.
        same_as: The id of the figure whose ours is the same one: it counts there; "" for a figure of its own.
        decimals: Decimals its source prints.
        cut: The source cuts decimals off instead of rounding (`ollama ps` from 10 GB up).
        tolerance: How far ours may be, in the unit; None where nothing but the printed figure will do.
        tolerance_percent: The same as a share, where it was given so.
        reason: Why that far.
        note: What else a reader has to know; of an unexplained figure what was tried, after `TRIED`.
    """

    id: str
    figure: str
    low: float
    high: float
    unit: str
    compared: str
    expected: str
    proof: str
    fit: Fit | None = None
    because: str = ""
    same_as: str = ""
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
        fits = {name: Fit(one["what"], tuple(one["figures"])) for name, one in held.get("fits", {}).items()}
        figures = tuple(_figure(one, fits) for one in held["figures"])
        _check_names(figures, fits)
        return Published(held["experiment"], held["source"], held["about"], figures)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
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


def _figure(held: dict[str, Any], fits: dict[str, Fit]) -> Figure:
    rest = dict(held)
    value = rest.pop("value")
    low, high = cast("list[float]", value) if isinstance(value, list) else (value, value)
    if "tolerance_percent" in rest:
        rest["tolerance"] = abs(high) * rest["tolerance_percent"] / 100
    if "fit" in rest:
        rest["fit"] = fits[rest["fit"]]
    made = Figure(low=float(low), high=float(high), **rest)
    has_tolerance = made.tolerance is not None and bool(made.reason)
    says_what_was_tried = made.expected != "unexplained" or TRIED in made.note
    if not made.compared or made.expected not in VERDICTS or has_tolerance != (made.expected == "within") or not says_what_was_tried:
        msg = f"figure {made.id}: it says what it is compared with; within a tolerance, that and its reason; unexplained, what was tried"
        raise ValueError(msg)
    if not _proof_holds(made):
        msg = f"figure {made.id}: a fitted one names its fit; a predicted one is not among its fit's figures; given or by construction, it says why"
        raise ValueError(msg)
    return made


def _proof_holds(made: Figure) -> bool:
    used = made.fit is not None and made.id in made.fit.figures
    return {
        PREDICTED: not used and not made.because,
        FITTED: made.fit is not None and not made.because,
        GIVEN: made.fit is None and bool(made.because),
        BY_CONSTRUCTION: made.fit is None and bool(made.because),
    }.get(made.proof, False)


def _check_names(figures: tuple[Figure, ...], fits: dict[str, Fit]) -> None:
    own = {one.id for one in figures if not one.same_as}
    missing = [one.same_as for one in figures if one.same_as and one.same_as not in own]
    # a figure without a row is described in words
    missing += [name for fit in fits.values() for name in fit.figures if " " not in name and name not in {one.id for one in figures}]
    if missing:
        msg = f"there is no figure {missing[0]} of its own"
        raise ValueError(msg)
