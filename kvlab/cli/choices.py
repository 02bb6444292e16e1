"""The policy and the shape that a user chose, from the flags, the workload and the model's default.

Later ones win: the model's default, the workload's choices, the version of `--policy`, `--set`, `--budget`. So the single
choices of a case stay when `--policy` changes its version. What this version's engine does not follow is refused here, before
a model is opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kvlab.errors import BadValue
from kvlab.policy import OF_A_SERVER, Policy
from kvlab.units import parse_bytes
from kvlab.workloads import Workload

if TYPE_CHECKING:
    from kvlab.lab import Twin

KVLAB = "kvlab"
"""What `--policy` calls our own best choices; every other name is upstream's."""

USUAL_MODEL = "smollm2"


def chosen_policy(default: Policy, workload: Mapping[str, Any], version: str | None, choices: Sequence[str], budget: str | None) -> Policy:
    """Return the policy to run under.

    Raises:
        BadValue: a version, field or value that no policy has, or that this version's engine does not follow.
    """
    from kvlab.cache.supported import not_of_a_run, require_supported

    changes = dict(workload) if version is None else {**workload, "version": version}
    if changes.get("version") == KVLAB:
        del changes["version"]
        default = Policy.kvlab().replace(prefill_chunk=default.prefill_chunk)
    single = single_choices(choices)
    for field in OF_A_SERVER:
        # refused whatever the value: who sets it expects that something follows it
        if field in single:
            raise not_of_a_run(field, single[field])
    if budget is not None:
        single["budget_bytes"] = parse_bytes(budget)
    policy = default.amended(changes).replace(**single)
    try:
        require_supported(policy)
    except BadValue as error:
        if "version" not in changes:
            raise
        raise BadValue(
            what=f"{error.what}, as version {changes['version']} does",
            why=error.why,
            hint="run it under --policy main, with the single choices that matter set by --set",
        ) from error
    return policy


def workload_choices(workload: Workload, version: str | None) -> dict[str, Any]:
    """Return the choices that a workload brings. A chosen version replaces a named experiment's arm; the experiment's fitted budget stays."""
    if version is None or not workload.model:
        return workload.policy
    return {name: value for name, value in workload.policy.items() if name == "budget_bytes"}


def single_choices(choices: Sequence[str]) -> dict[str, Any]:
    """Return the FIELD=VALUE arguments of `--set` by field.

    Raises:
        BadValue: an argument has no field or no `=`.
    """
    single: dict[str, Any] = {}
    for choice in choices:
        name, equals, value = choice.partition("=")
        if not equals or not name:
            raise BadValue(
                what=f"--set {choice!r} sets nothing",
                why="a field of the policy and its value are needed, with = between them",
                hint="write for example --set capture_grid=4096",
            )
        single[name.strip()] = value.strip()
    return single


def open_twin(workload: Workload, shape: str | None = None, layers: str | None = None) -> Twin:
    """Open the twin that a workload runs on: of `shape`, else of the case's or experiment's own, else of the embedded model.

    `layers` are kinds with commas between them, at unit prices.

    Raises:
        KvlabError: the shape or a kind is not known.
    """
    import kvlab

    if layers is not None:
        return kvlab.twin([kind.strip() for kind in layers.split(",")])
    return kvlab.twin(shape if shape is not None else workload.shape or workload.shape_name or USUAL_MODEL)
