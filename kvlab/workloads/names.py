"""From what a user types to a workload: a scenario's or an experiment's name, the path of a case file, or that of a trace."""

from __future__ import annotations

import difflib
from pathlib import Path

from kvlab.errors import BadValue, UnreadableInput
from kvlab.workloads.cases import case
from kvlab.workloads.experiments import ELSEWHERE, EXPERIMENTS, experiment
from kvlab.workloads.families import FAMILIES
from kvlab.workloads.scenarios import SCENARIOS, require_count
from kvlab.workloads.traces import is_trace, trace
from kvlab.workloads.workload import Workload

__all__ = ["case", "named", "resolve", "trace"]


def named(text: str, scale: float = 1.0) -> Workload:
    """Return the workload that `text` names, such as `unrelated:15`, `A1` or `series:context`; counts of tokens are taken times `scale`.

    Raises:
        BadValue: no workload has that name, its part after the colon is not one of its own, or it has no counts that scale.

    Example:
        >>> import kvlab
        >>> kvlab.workloads.named("unrelated:15").name
        'unrelated:15'
    """
    name, colon, rest = text.partition(":")
    if name in EXPERIMENTS:
        return experiment(name, rest, scale) if rest or not colon else experiment(name, " ")
    if name in FAMILIES:
        return FAMILIES[name].build(rest, scale)
    scenario = SCENARIOS.get(name)
    if scenario is None:
        raise _unknown(text, name)
    if scale != 1:
        raise BadValue(
            what=f"{text} cannot be scaled by {scale:g}",
            why="its prompts are sentences, not counts of tokens",
            hint="leave the scale away, or take an experiment such as A3 or B",
        )
    if not colon:
        return scenario.build(scenario.usual)
    if not rest.isascii() or not rest.isdigit():
        raise BadValue(
            what=f"{rest!r} in {text!r} is not a number of requests",
            why=f"{name}:N needs a whole number of at least 1",
            hint=f"write for example {name}:{scenario.usual}",
        )
    return scenario.build(require_count(name, rest, scenario.usual))


def resolve(text: str, scale: float = 1.0) -> Workload:
    """Return the workload that a user typed: the path of a case file or of a trace, or a name.

    Raises:
        BadValue: the name is unknown or the file has a value that cannot be used.
        UnreadableInput: the file cannot be read.

    Example:
        >>> import kvlab
        >>> len(kvlab.workloads.resolve("chat:3"))
        3
    """
    if is_trace(text):
        return trace(text)
    if text.endswith(".json"):
        return case(text, scale)
    if Path(text).is_file():
        return _case_of_another_name(text, scale)
    return named(text, scale)


def _case_of_another_name(text: str, scale: float) -> Workload:
    try:
        return case(text, scale)
    except UnreadableInput as error:
        raise UnreadableInput(
            what=f"{text} is no workload",
            why=f"by its name it is no trace (.jsonl or .csv, packed or not), so it was read as a case: {error.why}",
            hint="give it a name that says what it is: a case ends in .json",
        ) from None


def _unknown(text: str, name: str) -> BadValue:
    if name in ELSEWHERE:
        return BadValue(what=f"{name} is not a workload", why=ELSEWHERE[name], hint=f"the experiments are {', '.join(EXPERIMENTS)}")
    usual = {**{one: f"{one}:{item.usual}" for one, item in SCENARIOS.items()}, **{one: item.example for one, item in FAMILIES.items()}}
    near = difflib.get_close_matches(name, [*usual, *EXPERIMENTS], n=1) or difflib.get_close_matches(name.upper(), EXPERIMENTS, n=1)
    known = ", ".join([f"{one}:N ({item.about})" for one, item in SCENARIOS.items()] + [f"{item.example} ({item.about})" for item in FAMILIES.values()])
    return BadValue(
        what=f"there is no workload {text!r}",
        why=f"the named workloads are {known}, and the experiments {', '.join(EXPERIMENTS)}; a case file or a trace is given by its path",
        hint=f"did you mean {usual.get(near[0], near[0])}?" if near else "write for example unrelated:15",
    )
