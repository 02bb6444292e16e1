"""The policy that a user chose, from the flags, the workload and the model's default.

Later ones win: the model's default, the workload's choices, the version of `--policy`, `--set`, `--budget`. So the single
choices of a case stay when `--policy` changes its version.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kvlab.errors import BadValue
from kvlab.policy import Policy
from kvlab.units import parse_bytes


def chosen_policy(default: Policy, workload: dict[str, Any], version: str | None, choices: Sequence[str], budget: str | None) -> Policy:
    """Return the policy to run under.

    Raises:
        BadValue: a version, field or value that no policy has.
    """
    single = {name: mine for name, (mine, _) in default.diff(Policy()).items()} | workload
    of_workload = str(single.pop("version", "main"))
    named = version or of_workload
    base = Policy.kvlab() if named == "kvlab" else Policy.ollama(named)
    single |= dict(_pair(choice) for choice in choices)
    if budget is not None:
        single["budget_bytes"] = parse_bytes(budget)
    return base.replace(**single)


def _pair(choice: str) -> tuple[str, str]:
    name, equals, value = choice.partition("=")
    if not equals or not name:
        raise BadValue(
            what=f"--set {choice!r} sets nothing",
            why="a field of the policy and its value are needed, with = between them",
            hint="write for example --set capture_grid=4096",
        )
    return name.strip(), value.strip()
