"""Restore points: where a request was restored, which point of the rules that is, and which one would have helped.

Rules (facts of Ollama's MLX runner, in the policy's words): a whole state is stored at every multiple of `capture_grid` of a cold prompt, at
`capture_before_end` tokens before a prompt's end, where an earlier request left the trie (its branch point), and where one ended. With a draft
head that looks one token ahead each lies one token lower. Full attention can be restored anywhere, so only whole states limit a restore.
A cache of whole entries (mlx-lm's) has no such points: an entry that is longer than the match must be rewound, which such layers refuse.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from kvlab.diagnose.finding import Number
from kvlab.policy import Policy
from kvlab.shape import WHOLE_STATE, Shape

_OFFSET = re.compile(r"\(offset (\d+)\)")


def restore_points(row: dict[str, Any], earlier: Sequence[dict[str, Any]], shape: Shape | None, policy: Policy) -> dict[str, Number]:
    """Return where a request was restored and where it could have been, as the figures of a finding.

    `restore_point_used_is` is what put a state at the offset that was restored: `grid`, `before_prompt_end`, `end_of_a_request`, `branch_point`,
    `whole_entry`, `none` or `unknown`; `..._helped_is` what would have put one where it would have saved most: `grid` (one of the rules' own, which is
    not there any more), `before_prompt_end`, `at_the_match`. `refused_at_tokens` is where the layers were when a restore was refused and all of them were
    freed; `rewind_tokens` by how much the shortest whole entry that holds the match is longer, where the cache keeps whole entries.

    Args:
        row: Of `requests`, its `cached` below its `matched`.
        earlier: The rows before it.
        shape: The model's.
        policy: The rules.
    """
    matched, cached = int(row["matched"]), int(row["cached"])
    refused = next((match for words in row["warnings"] or () if (match := _OFFSET.search(words))), None)
    seen = cached or (int(refused[1]) if refused else 0)
    # where the shape is not known, a point one below the grid gives the look-ahead away
    ahead = shape.look_ahead if shape is not None else int(seen > 0 and (seen + 1) % policy.capture_grid == 0)
    whole = policy.store == "whole_entry_lru"
    used_is, (helps, helps_is) = _what(cached, earlier, policy, ahead), _better(matched, cached, earlier, policy, ahead)
    if whole:
        ahead, used_is, helps, helps_is = 0, "whole_entry", matched, "at_the_match"
    numbers: dict[str, Number] = {
        "limiting_layer": str(row["limiting_layer"] or restored_only_at_points(shape)),
        "restore_point_used_tokens": cached,
        "restore_point_used_is": used_is,
        "restore_point_that_would_have_helped_tokens": helps,
        "restore_point_that_would_have_helped_is": helps_is,
        "spared_at_most_tokens": helps - cached,
        "look_ahead_tokens": ahead,
    }
    if refused:
        numbers["refused_at_tokens"] = int(refused[1])
    if whole:
        lengths = [length for one in earlier if (length := (one["tokens"] or 0) + (one["generated"] or 0)) > matched]
        numbers["rewind_tokens"] = min(lengths, default=matched) - matched
    return numbers


def _what(offset: int, earlier: Sequence[dict[str, Any]], policy: Policy, ahead: int) -> str:
    if not offset:
        return "none"
    ends = {int(one["tokens"]) for one in earlier if one["tokens"] is not None}
    if policy.capture_at == "grid" and (offset + ahead) % policy.capture_grid == 0:
        return "grid"
    if policy.capture_before_end and offset + ahead + policy.capture_before_end in ends:
        return "before_prompt_end"
    if any(one["tokens"] is not None and offset + 1 in (one["tokens"] + (one["generated"] or 0), one["tokens"]) for one in earlier):
        return "end_of_a_request"
    return "branch_point" if any(one["matched"] == offset for one in earlier) else "unknown"


def _better(matched: int, cached: int, earlier: Sequence[dict[str, Any]], policy: Policy, ahead: int) -> tuple[int, str]:
    """Return the highest point that the rules would have had at or below the match, above what was used; the match itself when they have none."""
    points = {0: "none"}
    if policy.capture_at == "grid":
        points[(matched + ahead) // policy.capture_grid * policy.capture_grid - ahead] = "grid"
    for one in earlier:
        end = (one["tokens"] or 0) - policy.capture_before_end - ahead
        if policy.capture_before_end and cached < end <= matched:
            points[end] = "before_prompt_end"
    best = max(points)
    return (best, points[best]) if best > cached else (matched, "at_the_match")


def restored_only_at_points(shape: Shape | None) -> str:
    """Return the kinds of layer that can be restored only at a point, joined by ` or `; those of any model where the shape is not known."""
    kinds = sorted(WHOLE_STATE) if shape is None else [group.kind for group in shape.groups if group.kind in WHOLE_STATE]
    return " or ".join(dict.fromkeys(kinds))
