"""Which choices go together; the engine refuses the others rather than run something else under their name."""

from __future__ import annotations

from kvlab.errors import BadValue
from kvlab.policy import Policy

_OF_THE_TRIE = (
    "evict_order",
    "protect",
    "on_miss",
    "live_buffer",
    "capture_at",
    "capture_as",
    "copy_before_overwrite",
    "attach",
    "growth",
    "page_out",
    "page_out_layers",
    "mid_edge",
    "settle_draft",
    "draft_keys",
    "media",
    "lifetimes",
)
"""Choices about how a trie's nodes share a prompt; whole entries have nothing that they could change."""

_REFUSED = {
    "whole_entry_lru": (_OF_THE_TRIE, "whole entries follow", "the choice is about how the nodes of a trie share a prompt"),
    "trie": (("store_segments", "store_entries"), "the trie follows", "the choice is about whole entries"),
}
"""By name of the choice `store`: the choices that mean nothing to it, and why."""


def require_supported(policy: Policy) -> None:
    """Check that the engine follows every choice of `policy`.

    Raises:
        BadValue: a choice that only a server follows was set, or one that has no meaning under the policy's `store`; the field and its value are named.
    """
    for field, value in policy.set_of_a_server().items():
        raise not_of_a_run(field, value)
    fields, follows, about = _REFUSED[policy.store]
    other = next(store for store in _REFUSED if store != policy.store)
    for field, (value, main) in policy.diff(Policy()).items():
        if field in fields:
            raise BadValue(
                what=f"the policy sets {field}={value} with store={policy.store}",
                why=f"{follows} {field}={main} only: {about}",
                hint=f"set {field}={main}, or store={other}",
            )


def not_of_a_run(field: str, value: object) -> BadValue:
    """Return the error for a run that sets what only a server follows."""
    return BadValue(
        what=f"the run sets {field}={value}",
        why=f"{field} is about a server that loads and closes models; it acts in serving alone, and a run's cache would be the same with any value",
        hint=f"leave {field} out; `kvlab faults` lists what it is about among the life-cycle entries",
    )
