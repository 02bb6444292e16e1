"""The policy that a user chose, from the flags, the workload and the model's default.

Later ones win: the model's default, the workload's choices, the version of `--policy`, `--set`, `--budget`. So the single
choices of a case stay when `--policy` changes its version. What this version's engine does not follow is refused here, before
a model is opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kvlab.errors import BadValue
from kvlab.policy import OF_A_SERVER, Policy
from kvlab.units import parse_bytes
from kvlab.workloads import Workload

KVLAB = "kvlab"
"""What `--policy` calls our own best choices; every other name is upstream's."""


def chosen_policy(default: Policy, workload: Mapping[str, Any], version: str | None, choices: Sequence[str], budget: str | None) -> Policy:
    """Return the policy to run under.

    Raises:
        BadValue: a version, field or value that no policy has, or that this version's engine does not follow.
    """
    from kvlab.cache.supported import not_of_a_run, require_supported

    asked = dict(workload) if version is None else {**workload, "version": version}
    if asked.get("version") == KVLAB:
        del asked["version"]
        default = Policy.kvlab().replace(prefill_chunk=default.prefill_chunk)
    single = single_choices(choices)
    for field in OF_A_SERVER:
        # refused whatever the value: who sets it expects that something follows it
        if field in single:
            raise not_of_a_run(field, single[field])
    if budget is not None:
        single["budget_bytes"] = parse_bytes(budget)
    policy = default.amended(asked).replace(**single)
    try:
        require_supported(policy)
    except BadValue as error:
        if "version" not in asked:
            raise
        raise BadValue(
            what=f"{error.what}, as version {asked['version']} does",
            why=error.why,
            hint="run it under --policy main, with the single choices that matter set by --set",
        ) from error
    return policy


def workload_choices(workload: Workload, version: str | None) -> dict[str, Any]:
    """Return the choices that a workload brings. A version asked for takes the place of a named experiment's arm; its fitted budget stays."""
    if version is None or not workload.model:
        return workload.policy
    return {name: value for name, value in workload.policy.items() if name == "budget_bytes"}


def single_choices(choices: Sequence[str]) -> dict[str, Any]:
    """Return the FIELD=VALUE words of `--set` by field.

    Raises:
        BadValue: a word has no field or no `=`.
    """
    return dict(_pair(choice) for choice in choices)


def _pair(choice: str) -> tuple[str, str]:
    name, equals, value = choice.partition("=")
    if not equals or not name:
        raise BadValue(
            what=f"--set {choice!r} sets nothing",
            why="a field of the policy and its value are needed, with = between them",
            hint="write for example --set capture_grid=4096",
        )
    return name.strip(), value.strip()
