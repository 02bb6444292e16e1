"""Signs: for each entry of the fault catalogue that spans can show, when it has shown in a request, and which choices make it.

A sign is stated on what was seen (`Observation`), never on the policy. Ids are those of the public study of the upstream runner.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from kvlab.shape import WHOLE_STATE
from tests.tools.soak.observation import Observation


@dataclass(frozen=True, slots=True)
class Sign:
    """How one entry of the catalogue shows.

    Attributes:
        id: Its id in the catalogue.
        name: What happens, in a few words.
        shown: Whether it has shown in a request.
        made_by: Choices that make it happen; empty for what every version does by design.
        hidden_by: Choices under which it cannot happen all the same.
        any_of: Layer kinds of which it needs one; empty when any will do.
        none_of: Layer kinds with which it cannot happen.
        since: The first version (of those soaked) that has what it happens to.
    """

    id: str
    name: str
    shown: Callable[[Observation], bool]
    made_by: Mapping[str, Any] = field(default_factory=dict[str, Any])
    hidden_by: Mapping[str, Any] = field(default_factory=dict[str, Any])
    any_of: frozenset[str] = frozenset()
    none_of: frozenset[str] = frozenset()
    since: str = "0.30.7"

    @property
    def by_design(self) -> bool:
        """Every version does so, upstream main included: no defect."""
        return not self.made_by


def _pinned(observation: Observation) -> bool:
    return observation.pinned > 0


def _branch_stays(observation: Observation) -> bool:
    return observation.nodes_left > 0


def _path_exempt(observation: Observation) -> bool:
    return observation.over_budget_by_path > 0


def _merge_inputs_stay(observation: Observation) -> bool:
    return observation.transient > 0


def _freeing_moves_bytes(observation: Observation) -> bool:
    return observation.freed_all and observation.copied_when_freed > 0


def _room_stays(observation: Observation) -> bool:
    return observation.room_kept > 0


def _captures_lost(observation: Observation) -> bool:
    return observation.cancelled and observation.captures_lost


def _leaked(observation: Observation) -> bool:
    return observation.broke("snapshots_conserved")


def _draft_behind(observation: Observation) -> bool:
    return observation.draft_behind


def _stale_pair(observation: Observation) -> bool:
    # single pairs hold a token that does not follow there, while the layers without pairs are right
    return observation.drafts_sound and bool(observation.wrong) and all(one.layer == "draft_kv" and one.end - one.start == 1 for one in observation.wrong)


_EAGER = {"snapshots": "eager"}
_DRAFT = frozenset({"draft_kv"})

SIGNS: tuple[Sign, ...] = (
    Sign("F-01", "a captured state pins the forward's input", _pinned, {"capture_as": "view"}, any_of=frozenset({"recurrent"})),
    Sign("F-03", "the budget does not see live buffers", attrgetter("over_budget_with_live")),
    Sign("F-05", "a full miss leaves its branch", _branch_stays),
    Sign("F-06", "the active path is exempt from eviction", _path_exempt, {"protect": "active_path"}, any_of=WHOLE_STATE),
    Sign("F-07", "merge inputs stay until the sweep", _merge_inputs_stay, {"lifetimes": "sweep"}),
    Sign("F-09", "freeing all layers moves bytes, it releases none", _freeing_moves_bytes, {"growth": "in_place"}, _EAGER, any_of=WHOLE_STATE),
    Sign("F-10", "a rewound KV buffer keeps its room", _room_stays),
    Sign(
        "F-12",
        "a node entered partway leaves the path and is rebuilt short",
        attrgetter("off_edge_newborn"),
        {"mid_edge": "drop"},
        _EAGER,
        none_of=frozenset({"recurrent"}),
    ),
    Sign("F-13", "page-out skips a split-off head", attrgetter("head_left_bare"), {"page_out_layers": "all_or_none"}, any_of=WHOLE_STATE),
    Sign("F-14", "lazy snapshots are overwritten", attrgetter("overwritten"), {"copy_before_overwrite": "first_append"}, _EAGER),
    Sign("F-15", "captures replace what a node has, or are not clipped to its edge", attrgetter("off_edge_existing"), {"attach": "replace"}, _EAGER),
    Sign("F-16", "a node grows in place under its snapshot", attrgetter("off_edge_grown"), {"growth": "in_place"}, _EAGER),
    Sign("F-17", "a generated tail is recorded without snapshots", attrgetter("tail_bare"), {"page_out": "at_switch"}),
    Sign("F-18", "a cancelled prefill loses its captures", _captures_lost, {"on_cancel": "discard"}),
    Sign("F-20", "draft layers are not settled on cancel, or without a reply", _draft_behind, {"settle_draft": False}, any_of=_DRAFT, since="0.30.8"),
    Sign("F-21", "a stale pair at the match point", _stale_pair, {"draft_keys": "single"}, any_of=_DRAFT, since="0.30.8"),
    Sign("F-22", "a match or a capture inside a whole media item", attrgetter("inside_item"), {"media": "anywhere"}, since="0.32.7"),
    Sign("F-19", "cancelled captures leak", _leaked, {"on_cancel": "leak"}),
)
"""Every sign. No choice of today makes F-19: it may show nowhere."""

EXPLAINS: dict[str, tuple[str, ...]] = {
    "kv_covers_edge": ("F-12", "F-15", "F-16", "F-20"),
    "lazy_intact": ("F-12", "F-14", "F-15", "F-16", "F-20"),
    "restored_right": ("F-12", "F-14", "F-15", "F-16", "F-20", "F-21"),
    "cached_is_matched": ("F-12", "F-15", "F-16", "F-17"),
    "level": ("F-20",),
    "path": ("F-16", "F-20"),
}
"""By rule: the signs that explain why it is broken, once one of them has shown in the same trial."""
