"""Reuse: why a request's `cached` is what it is, in the words of `kvlab.events.REASONS`."""

from __future__ import annotations


def reason_for(matched: int, cached: int, tokens: int, refused: str) -> tuple[str, str]:
    """Return the reason, and the kind of layer that limited the restore ("" when none did)."""
    if matched == 0:
        return "nothing_shared", ""
    if cached >= min(matched, tokens - 1):
        return "reused_in_full", ""
    if refused:
        return "refused_by_layer", refused
    return "reuse_limited_by_restore_point", ""
