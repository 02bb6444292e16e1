"""Observation: what was seen of one request, in the terms in which the signs of defects are stated. Plain data, filled by a Monitor."""

from __future__ import annotations

from dataclasses import dataclass, field

from kvlab.events import WrongPositions


@dataclass(slots=True)
class Observation:
    """What was seen of one request, from its begin to its close.

    Attributes:
        tokens: Of its prompt.
        matched: Tokens that agree with the trie.
        cached: Tokens that were restored.
        cancelled: It was cut short.
        drafts_sound: In no earlier request of this trial a lazy snapshot was overwritten or a layer left behind the others.
        rules: Rules that were broken, with what the checker said, in order.
        wrong: Restored positions that hold something else.
        overwritten: A lazy snapshot was overwritten, or was restored with something else in it, and no snapshot that missed its edge did that.
        freed_all: The warning that all layers were freed came.
        copied_when_freed: Bytes of lazy snapshots that freeing all layers copied out.
        pinned: Bytes that views taken in it keep alive beyond those they count for.
        transient: Bytes of consumed merge inputs that were still there after the begin or the attach, at most.
        over_budget_by_path: Bytes over the budget after the begin's eviction, while nodes of the active path that hold whole states, and
            from which no branch leaves, were kept; 0 otherwise.
        off_edge_newborn: A KV capture was put on a node born for it that begins before the capture does.
        off_edge_existing: A KV capture was put, as it was, on a node that was there already or begins after the capture does.
        off_edge_grown: A KV capture was put on a node that had just grown in place, and does not cover what was there before.
        captures_lost: A cancel closed captures before it recorded what was evaluated.
        tail_bare: The close added a node, and put no snapshot on it.
        head_left_bare: The last request rested at its frontier's end and captured some layers only; this one left it, and they still miss.
        draft_behind: After its end the draft layers rest one position before the others.
        inside_item: It resumed, or scheduled a capture, inside a whole media item.
        room_kept: Tokens of room that a KV buffer kept beyond the resume offset's growth step.
        nodes_left: Nodes that it added to the trie although nothing matched.
        over_budget_with_live: Counted bytes are within the budget after the close, and with the live buffers beyond it.
    """

    tokens: int = 0
    matched: int = 0
    cached: int = 0
    cancelled: bool = False
    drafts_sound: bool = True
    rules: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    wrong: list[WrongPositions] = field(default_factory=list[WrongPositions])
    overwritten: bool = False
    freed_all: bool = False
    copied_when_freed: int = 0
    pinned: int = 0
    transient: int = 0
    over_budget_by_path: int = 0
    off_edge_newborn: bool = False
    off_edge_existing: bool = False
    off_edge_grown: bool = False
    captures_lost: bool = False
    tail_bare: bool = False
    head_left_bare: bool = False
    draft_behind: bool = False
    inside_item: bool = False
    room_kept: int = 0
    nodes_left: int = 0
    over_budget_with_live: bool = False

    def broke(self, rule: str) -> bool:
        """Whether a rule was broken."""
        return any(name == rule for name, _ in self.rules)
