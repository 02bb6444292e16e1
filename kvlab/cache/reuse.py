"""Reuse: why a request's `cached` is what it is, in the words of `kvlab.events.REASONS`."""

from __future__ import annotations

from typing import NamedTuple


class Hit(NamedTuple):
    """What a prompt found.

    Attributes:
        matched: Tokens that agree with the trie.
        cached: Tokens that were restored.
        reusable: Tokens that can be restored at most: all but the one held back for the decode; all of a prompt that is scored.
        reason: Why `cached` is what it is (`kvlab.events.REASONS`).
    """

    matched: int
    cached: int
    reusable: int
    reason: str


def reason_for(matched: int, cached: int, reusable: int, limiting: str, *, gone: bool) -> tuple[str, str]:
    """Return the reason, and the kind of layer that limited the restore ("" when none did): `limiting` is the one that refused or lacked a state.

    `gone` says that the prompt would have gone on into a branch that was evicted.
    """
    if cached < min(matched, reusable):
        return "reuse_limited_by_restore_point", limiting
    if gone:
        return "evicted", ""
    return ("reused_in_full" if matched else "nothing_shared"), ""
