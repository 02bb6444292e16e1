"""Reuse: why a request's `cached` is what it is, in the words of `kvlab.events.REASONS`."""

from __future__ import annotations

from typing import NamedTuple


class Hit(NamedTuple):
    """What a prompt found: tokens that agree with the trie, tokens that were restored, and why these are what they are (`kvlab.events.REASONS`)."""

    matched: int
    cached: int
    reason: str


def reason_for(matched: int, cached: int, tokens: int, limiting: str, *, gone: bool) -> tuple[str, str]:
    """Return the reason, and the kind of layer that limited the restore ("" when none did): `limiting` is the one that refused or lacked a state.

    `gone` says that the prompt would have gone on into a branch that was evicted.
    """
    if cached < min(matched, tokens - 1):
        return "reuse_limited_by_restore_point", limiting
    if gone:
        return "evicted", ""
    return ("reused_in_full" if matched else "nothing_shared"), ""
