"""Soak: trials of random requests over every layer set and version, until enough operations have run; then the verdict.

An operation is one request, whatever became of it: completed, or cut short in its prefill, its decode or between two events.
The soak passes when no version shows a sign that it never may, breaks no rule that its signs do not explain, raises no exception,
and shows every sign that it must.
"""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kvlab.errors import BadValue
from kvlab.policy import Policy
from tests.tools.soak.action import Action
from tests.tools.soak.known import VERSIONS, must_show, never_may, takes_media
from tests.tools.soak.layer_sets import LAYER_SETS
from tests.tools.soak.recipes import recipe
from tests.tools.soak.shrink import shrunk
from tests.tools.soak.traffic import Traffic
from tests.tools.soak.trial import Broken, Plan, Trial, run_trial

OPERATIONS = 20_000
"""Operations that show every sign on every layer set with room to spare."""

LENGTHS = (6, 10, 16, 24, 48)
"""Random requests of a trial."""

NEVER_MAY = "never_may_show"
"""The rule that a version breaks by a sign it never may show."""

Cell = tuple[str, str]
"""A version and a layer set."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A trial that broke what is known of its version, cut down as far as it still does.

    Attributes:
        version: The version.
        layer_set: The layer set.
        trial: Which of this version's trials on this layer set, from 0.
        plan: The shortest requests found that still break the same rule, with their policy and shape.
        broken: What they break, by the last of them.
    """

    version: str
    layer_set: str
    trial: int
    plan: Plan
    broken: Broken

    def to_dict(self) -> dict[str, Any]:
        """Return the failure as JSON holds it."""
        return {
            "version": self.version,
            "layer_set": self.layer_set,
            "trial": self.trial,
            "layers": self.plan.shape.name,
            "policy": {name: mine for name, (mine, _) in self.plan.policy.diff(Policy()).items()},
            "requests": [action.to_dict() for action in self.plan.actions],
            "violation": {"request": self.broken.request, "rule": self.broken.rule, "detail": self.broken.message},
        }


@dataclass(slots=True)
class Soak:
    """What a soak found.

    Attributes:
        seed: The seed of its random numbers.
        operations: Requests run.
        seconds: Wall time it took.
        trials: How many trials each version and layer set had.
        shown: In how many of these trials each sign showed.
        failures: The first trial of each version and layer set that broke what is known.
        missing: Signs that had to show and did not, by version and layer set.
    """

    seed: int
    operations: int = 0
    seconds: float = 0.0
    trials: Counter[Cell] = field(default_factory=Counter[Cell])
    shown: dict[Cell, Counter[str]] = field(default_factory=dict[Cell, Counter[str]])
    failures: list[Failure] = field(default_factory=list[Failure])
    missing: dict[Cell, tuple[str, ...]] = field(default_factory=dict[Cell, tuple[str, ...]])

    @property
    def failed(self) -> set[Cell]:
        """The versions and layer sets of which a trial broke what is known."""
        return {(failure.version, failure.layer_set) for failure in self.failures}

    def note(self, cell: Cell, trial: Trial) -> None:
        """Count a trial and the signs that showed in it."""
        self.operations += trial.requests
        self.trials[cell] += 1
        self.shown[cell].update(trial.shown.keys())

    @property
    def passed(self) -> bool:
        """Each version showed exactly what is known of it."""
        return not self.failures and not self.missing

    def to_dict(self) -> dict[str, Any]:
        """Return the soak as JSON holds it."""
        return {
            "passed": self.passed,
            "seed": self.seed,
            "operations": self.operations,
            "seconds": round(self.seconds, 3),
            "cells": [
                {
                    "version": version,
                    "layer_set": layer_set,
                    "trials": self.trials[version, layer_set],
                    "shown": dict(sorted(counts.items())),
                    "missing": list(self.missing.get((version, layer_set), ())),
                }
                for (version, layer_set), counts in self.shown.items()
            ],
            "failures": [failure.to_dict() for failure in self.failures],
        }


def soak(
    operations: int = OPERATIONS,
    seed: int = 0,
    *,
    versions: Sequence[str] = VERSIONS,
    layer_sets: Sequence[str] = tuple(LAYER_SETS),
    choices: Mapping[str, Any] | None = None,
    each: Callable[[int], object] | None = None,
) -> Soak:
    """Run trials until `operations` requests have run.

    Args:
        operations: How many requests to run at least; the last trial is run to its end.
        seed: The same seed gives the same requests.
        versions: The versions to run, each on every layer set.
        layer_sets: The layer sets to run.
        choices: Choices planted on top of every version, to see the soak fail.
        each: Called with the requests of every trial that ended.

    Raises:
        BadValue: `operations` is below 1, or a choice is none of the policy's.
    """
    if operations < 1:
        raise BadValue(what=f"{operations} operations show nothing", why="an operation is one request", hint=f"use {OPERATIONS}")
    found, begun = Soak(seed), time.perf_counter()
    cells = list(itertools.product(versions, layer_sets))
    found.shown = {cell: Counter() for cell in cells}
    for number in itertools.count():
        if found.operations >= operations:
            break
        turn, place = divmod(number, len(cells))
        cell = cells[place]
        plan = planned(seed, turn, *cell, choices or {})
        trial = run_trial(plan)
        found.note(cell, trial)
        if cell not in found.failed and (broken := next(breaks(trial, *cell), None)) is not None:
            found.failures.append(_failure(cell, turn, plan, broken))
        if each is not None:
            each(trial.requests)
    for cell in cells:
        if missing := must_show(*cell) - set(found.shown[cell]):
            found.missing[cell] = tuple(sorted(missing))
    found.seconds = time.perf_counter() - begun
    return found


def planned(seed: int, turn: int, version: str, layer_set: str, choices: Mapping[str, Any]) -> Plan:
    """Return the plan of a version's trial number `turn` (from 0) on a layer set.

    Budgets go down to one node's bytes; every second trial begins with a recipe.
    """
    rng = random.Random(f"{seed}/{turn}/{version}/{layer_set}")
    media, shape = takes_media(version), rng.choice(LAYER_SETS[layer_set])
    knobs: dict[str, Any] = {
        "budget_bytes": rng.choice((4, 10, 12, 16, 20, 30, 40, 60, 100, 10**9)),
        "capture_grid": rng.choice((3, 6, 8, 1000)),
        "capture_before_end": rng.choice((0, 1, 1, 2, 4)),
        "prefill_chunk": rng.choice((3, 5, 9, 64)),
    }
    first: list[Action] = []
    if turn % 2:
        begun = recipe(turn // 2, with_media=media)
        knobs |= begun.choices
        first = begun.actions(rng)
        if shape.look_ahead and rng.random() < 0.5:
            # with pairs as keys a capture lands one token earlier
            knobs["capture_before_end"] = max(0, knobs["capture_before_end"] - 1)
    traffic = Traffic(rng, with_media=media and rng.random() < 0.3)
    actions = (*first, *traffic.take(rng.choice(LENGTHS)))
    return Plan(Policy.ollama(version).replace(**knobs).replace(**choices), shape, actions)


def breaks(trial: Trial, version: str, layer_set: str) -> Iterator[Broken]:
    """Yield what a trial broke of what is known of its version, first things first."""
    yield from trial.unexplained
    never = never_may(version, layer_set)
    for sign, request in trial.shown.items():
        if sign in never:
            rule = "" if trial.first is None else f"; {trial.first.rule} in request {trial.first.request}: {trial.first.message}"
            yield Broken(request, NEVER_MAY, f"{sign} showed under {version}, where it never may{rule}")


def _failure(cell: Cell, turn: int, plan: Plan, broken: Broken) -> Failure:
    def again(actions: Sequence[Action]) -> Broken | None:
        trial = run_trial(Plan(plan.policy, plan.shape, tuple(actions)))
        return next((one for one in breaks(trial, *cell) if one.rule == broken.rule), None)

    actions = shrunk(plan.actions[: broken.request], lambda actions: again(actions) is not None)
    shortest = again(actions)
    return Failure(*cell, turn, Plan(plan.policy, plan.shape, tuple(actions)), shortest or broken)
