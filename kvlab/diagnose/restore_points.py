"""Restore points: where a request was restored, which point of the rules that is, and which one would have helped.

Rules (facts of Ollama's MLX runner, in the policy's words): a whole state is stored at every multiple of `capture_grid` of a cold prompt, at
`capture_before_end` tokens before a prompt's end, where an earlier request left the trie (its branch point), and where one ended. With a draft
head that looks one token ahead each lies one token lower. Full attention can be restored anywhere, so only whole states limit a restore.
A cache of whole entries (mlx-lm's) has no such points: an entry that is longer than the match must be rewound, which such layers refuse.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvlab.policy import Policy
from kvlab.shape import WHOLE_STATE, Shape

_OFFSET = re.compile(r"\(offset (\d+)\)")


@dataclass(frozen=True, slots=True)
class RestorePoint:
    """Where a request was restored and where it could have been.

    Attributes:
        used: The offset that was restored; 0 for none.
        used_is: What put a state there: `grid`, `before_prompt_end`, `end_of_a_request`, `branch_point`, `none` or `unknown`.
        helps: The offset at which a whole state would have saved most.
        helps_is: What would have put it there: `grid` (one of the rules' own, which is not there any more), `before_prompt_end`, `at_the_match`.
        spared: Tokens that need not have been evaluated then.
        refused_at: At which offset the layers were when a restore was refused and all of them were freed; None when none was.
        layers: The kinds of layer that can only be restored at such a point, joined by ` or `.
        look_ahead: Tokens by which each point lies lower.
        rewind: Tokens by which the shortest whole entry that holds the match is longer; None in a trie.
    """

    used: int
    used_is: str
    helps: int
    helps_is: str
    spared: int
    refused_at: int | None
    layers: str
    look_ahead: int
    rewind: int | None = None


def restore_point(row: dict[str, Any], earlier: Sequence[dict[str, Any]], shape: Shape | None, policy: Policy) -> RestorePoint:
    """Return the restore points of a row of `requests` whose `cached` is below its `matched`; `earlier` are the rows before it."""
    matched, cached = int(row["matched"]), int(row["cached"])
    if policy.store == "whole_entry_lru":
        lengths = [length for one in earlier if (length := (one["tokens"] or 0) + (one["generated"] or 0)) > matched]
        rewind = min(lengths, default=matched) - matched
        return RestorePoint(cached, "whole_entry", matched, "at_the_match", matched - cached, _refused_at(row), _layers(row, shape), 0, rewind)
    ahead = shape.look_ahead if shape is not None else _look_ahead(cached or _refused_at(row) or 0, policy)
    used_is = _what(cached, earlier, policy, ahead)
    helps, helps_is = _better(matched, cached, earlier, policy, ahead)
    return RestorePoint(
        used=cached,
        used_is=used_is,
        helps=helps,
        helps_is=helps_is,
        spared=helps - cached,
        refused_at=_refused_at(row),
        layers=_layers(row, shape),
        look_ahead=ahead,
    )


def _look_ahead(offset: int, policy: Policy) -> int:
    """Return the look-ahead that a point on the grid gives away; 0 when it does not."""
    return 1 if offset and (offset + 1) % policy.capture_grid == 0 else 0


def _refused_at(row: dict[str, Any]) -> int | None:
    found = next((match for words in row["warnings"] or () if (match := _OFFSET.search(words))), None)
    return int(found[1]) if found else None


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


def _layers(row: dict[str, Any], shape: Shape | None) -> str:
    return str(row["limiting_layer"]) if row["limiting_layer"] else restored_only_at_points(shape)


def restored_only_at_points(shape: Shape | None) -> str:
    """Return the kinds of layer that can be restored only at a point, joined by ` or `; those of any model where the shape is not known."""
    kinds = sorted(WHOLE_STATE) if shape is None else [group.kind for group in shape.groups if group.kind in WHOLE_STATE]
    return " or ".join(dict.fromkeys(kinds))


def words(point: RestorePoint, policy: Policy) -> str:
    """Return the restore points in a sentence or two."""
    if point.rewind is not None:
        longer = f"The entry that holds the match is {point.rewind} tokens longer" if point.rewind else "The entry that holds the match has no state there"
        return f"{longer}: layers of kind {point.layers} cannot be rewound, so all of it is evaluated again ({point.spared} tokens spared at most)."
    lower = f" - {point.look_ahead} for the draft head's look-ahead" if point.look_ahead else ""
    grid, before = policy.capture_grid, policy.capture_before_end
    used = {
        "grid": f"the point used lies on the grid of {grid} ({(point.used + point.look_ahead) // grid} x {grid}{lower})",
        "before_prompt_end": f"the point used lies {before} tokens before an earlier prompt's end",
        "end_of_a_request": "the point used is an earlier request's end",
        "branch_point": "the point used is where an earlier request left the trie",
        "none": "no restore point was used",
        "unknown": "what put the point used there was not recorded",
    }[point.used_is]
    helps = {
        "grid": f"the grid's own point at {point.helps} would have helped; it is not there, as when a prefill was cancelled or its node evicted",
        "before_prompt_end": f"the one {before} tokens before an earlier prompt's end, at {point.helps}, would have helped; it is not there",
        "at_the_match": f"only one above it and up to the match at {point.helps} would have helped: a finer grid, or a capture at a message's end",
    }[point.helps_is]
    if point.helps_is == "at_the_match" and point.used_is == "grid" and before:
        end = f"The point {before} tokens before the earlier prompt's end lies past the match, as when a chat template changes its last tokens."
        return f"{used[0].upper()}{used[1:]}; {helps} ({point.spared} tokens spared at most). {end}"
    return f"{used[0].upper()}{used[1:]}; {helps} ({point.spared} tokens spared at most)."
