"""From what a user types to a workload: a scenario's name with a count, or the path of a case file."""

from __future__ import annotations

import difflib
from pathlib import Path

from kvlab.errors import BadValue
from kvlab.workloads.cases import case
from kvlab.workloads.scenarios import SCENARIOS
from kvlab.workloads.workload import Workload

__all__ = ["case", "named", "resolve"]


def named(text: str) -> Workload:
    """Return the scenario that `text` names, such as `unrelated:15`; without a count the usual one is taken.

    Raises:
        BadValue: no scenario has that name, or its count is no whole number of at least 1.
    """
    name, colon, count = text.partition(":")
    scenario = SCENARIOS.get(name)
    if scenario is None:
        near = difflib.get_close_matches(name, SCENARIOS, n=1)
        known = ", ".join(f"{known}:N ({item.about})" for known, item in SCENARIOS.items())
        raise BadValue(
            what=f"there is no workload {text!r}",
            why=f"the named workloads are {known}; a case file is given by its path",
            hint=f"did you mean {near[0]}:{SCENARIOS[near[0]].usual}?" if near else "write for example unrelated:15",
        )
    if not colon:
        return scenario.build(scenario.usual)
    if not count.isascii() or not count.isdigit():
        raise BadValue(
            what=f"{count!r} in {text!r} is not a number of requests",
            why=f"{name}:N needs a whole number of at least 1",
            hint=f"write for example {name}:{scenario.usual}",
        )
    return scenario.build(int(count))


def resolve(text: str) -> Workload:
    """Return the workload that a user typed: the path of a case file, or a scenario's name.

    Raises:
        BadValue: the name is unknown or the case has a value that cannot be used.
        UnreadableInput: the case file cannot be read.
    """
    if text.endswith(".json") or Path(text).is_file():
        return case(text)
    return named(text)
