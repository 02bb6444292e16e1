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


def require_supported(policy: Policy) -> None:
    """Check that the engine follows every choice of `policy`.

    Raises:
        BadValue: whole entries are asked for together with a choice that is about the trie; the field and its value are named.
    """
    if policy.store != "whole_entry_lru":
        return
    for field, (value, main) in policy.diff(Policy()).items():
        if field in _OF_THE_TRIE:
            raise BadValue(
                what=f"the policy asks for {field}={value} with store={policy.store}",
                why=f"whole entries follow {field}={main} only: the choice is about how the nodes of a trie share a prompt",
                hint=f"leave {field} as it is in upstream main, or keep store=trie",
            )
