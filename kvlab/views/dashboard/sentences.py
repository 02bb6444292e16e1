"""A sentence for an event: what just happened, and which rule did it.

A sentence is a template and its figures, so that a page gets each template once. Invariant: no sentence holds a prompt or an answer.
Placeholders are `{0}`, and `{0:b}` for bytes; `fill` here and `fill` in page/core.js write the same text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from kvlab import events as ev
from kvlab.policy import choice_words
from kvlab.recording.readings import PREDICTED
from kvlab.units import binary

Sentence = tuple[str, tuple[int | str, ...]]
"""A template and what is filled in."""

_PLACE = re.compile(r"\{(\d+)(:b)?\}")

REASONS = {
    "nothing_shared": "no earlier request that is still there began with these tokens",
    "reused_in_full": "all that matched can be restored; one token is always evaluated again, since it decides what comes next",
    "reuse_limited_by_restore_point": "a {4} layer can be restored only where there is a snapshot of it, so less than what matched is reused",
    "evicted": "what would have matched was evicted before",
    "refused_by_layer": "a {4} layer cannot be restored there",
}
STATES = {
    "lazy": "lazy: an index into the live buffer, {4:b} of its own. Rule: a copy is made only when its place is about to be written over",
    "owned": "owned: {4:b} of its own. Rule: a whole state is copied when it is taken; what is cut from or joined of owned snapshots is owned at once",
    "view": "a view of {4:b} that keeps a bigger buffer alive. Rule (capture_as=view): it is not made compact",
}
PHASES = {
    "load": "the weights are in place",
    "begin": "the prompt was matched and the layers restored",
    "prefill": "a part of the prompt was evaluated",
    "attach": "the captures are on nodes",
    "decode": "the reply is there",
    "close": "the request is over",
}
STOPS = {
    "stop_token": "the model generated its stop token",
    "limit": "its limit of new tokens is reached",
    "context": "the context is full",
    "cancelled": "it was cancelled",
    "no_reply": "no reply was requested",
}


def fill(template: str, figures: tuple[int | str, ...] | list[Any]) -> str:
    """Return a sentence as text."""

    def word(found: re.Match[str]) -> str:
        value = figures[int(found[1])]
        return binary(value) if found[2] and not isinstance(value, str) else str(value)

    return _PLACE.sub(word, template)


def sentence(event: ev.Event, policy: Mapping[str, Any]) -> Sentence:
    """Return the sentence of an event under a policy (as `Policy.to_dict` gives it; {} when it is not known)."""
    make = _SENTENCES.get(event.kind)
    return make(event, policy) if make is not None else (event.kind.replace("_", " ").capitalize() + ".", ())


def text(event: ev.Event, policy: Mapping[str, Any]) -> str:
    """Return the sentence of an event as text."""
    return fill(*sentence(event, policy))


def _rule(policy: Mapping[str, Any], *names: str) -> str:
    """Return ` (name=choice)` for what is known of the policy, such as ` (evict_order=lru)`."""
    known = [f"{name}={choice_words(policy[name])}" for name in names if name in policy]
    return f" ({', '.join(known)})" if known else ""


def _matched(e: Any, _: Mapping[str, Any]) -> Sentence:
    why = REASONS.get(e.reason, e.reason or "not recorded")
    return f"{{0}} of {{1}} tokens match the trie, {{2}} of them are restored, {{3}} must be evaluated. Rule: {why}.", (
        e.matched,
        e.tokens,
        e.cached,
        e.left,
        e.layer or "?",
    )


def _node_born(e: Any, p: Mapping[str, Any]) -> Sentence:
    if e.node == 0:
        return "The trie begins with its root.", ()
    return (
        f"Node #{{0}} is added below #{{1}} for tokens [{{2}}, {{3}}). Rule{_rule(p, 'growth')}: what was evaluated and not yet in the trie becomes an edge.",
        (
            e.node,
            e.parent,
            e.start,
            e.end,
        ),
    )


def _node_split(e: Any, p: Mapping[str, Any]) -> Sentence:
    template = (
        f"Split: node #{{0}} is cut at token {{1}}; the new node #{{2}} takes [{{3}}, {{1}}), #{{0}} keeps the rest and its children. "
        f"Rule{_rule(p, 'mid_edge')}: a path branches or ends inside the edge, and a node ends where paths part."
    )
    return template, (e.node, e.end, e.head, e.start)


def _evicted(e: Any, p: Mapping[str, Any]) -> Sentence:
    what = "merges the interior node #{0} into its child" if e.state == "interior" else "removes the leaf #{0}"
    rules = _rule(p, "store_entries") if e.reason == "entries" else _rule(p, "evict_order", "evict_at", "protect")
    above = "there were more entries than are kept" if e.reason == "entries" else "counted bytes were above the budget"
    template = f"Eviction {what}, edge [{{1}}, {{2}}); {{3:b}} counted go. Rule{rules}: {above}, and this was the first candidate."
    return template, (e.node, e.start, e.end, e.freed)


def _snapshot_taken(e: Any, _: Mapping[str, Any]) -> Sentence:
    template = f"Snapshot {{0}} of the {{1}} layers is taken over [{{2}}, {{3}}), {STATES.get(e.state, e.state)}."
    return template, (
        e.snapshot,
        e.layer,
        e.start,
        e.end,
        e.retained,
    )


def _scheduled(e: Any, p: Mapping[str, Any]) -> Sentence:
    rule = "on the grid and shortly before a prompt's end, as explicit restore points" if e.user else "where the trie matched more than could be restored"
    return f"A capture of all layers is scheduled at token {{0}}. Rule{_rule(p, 'capture_at', 'capture_grid', 'capture_before_end')}: {rule}.", (e.end,)


def _bytes_read(e: Any, p: Mapping[str, Any]) -> Sentence:
    if e.source == PREDICTED:
        return "Predicted by the twin: {0:b} counted, {1:b} live.", (e.counted, e.live)
    over = f" This is over the budget: eviction looks for victims only at certain moments{_rule(p, 'evict_at')}." if e.counted > e.budget > 0 else ""
    return f"Bytes are read ({PHASES.get(e.phase, e.phase or 'no phase')}): counted {{0:b}} of {{1:b}}, live {{2:b}}, active {{3:b}}.{over}", (
        e.counted,
        e.budget,
        e.live,
        e.active,
    )


_SENTENCES: dict[str, Callable[[Any, Mapping[str, Any]], Sentence]] = {
    "loaded": lambda e, _: ("The weights are in place: {0:b}.", (e.weights,)),
    "request_began": lambda e, _: ("Request {0} begins: {1} tokens in its prompt, at most {2} new ones.", (e.request, e.tokens, e.limit)),
    "matched": _matched,
    "node_born": _node_born,
    "node_split": _node_split,
    "node_merged": lambda e, _: (
        "Merge: node #{0} takes over the edge of its parent #{1} and spans [{2}, {3}). Rule: nothing else hangs on #{1}, and it is no explicit restore point.",
        (e.node, e.head, e.start, e.end),
    ),
    "node_removed": lambda e, _: ("Node #{0} leaves the trie.", (e.node,)),
    "node_ranked": lambda e, p: (
        f"Node #{{0}} is kept: {ev.PROTECTIONS.get(e.protection, e.protection)}."
        if e.protection
        else f"Eviction may take node #{{0}}{_rule(p, 'evict_order')}.",
        (e.node,),
    ),
    "buffer_changed": lambda e, _: (
        "The live buffers of the {0} layers hold [{1}, {2}), with room for {3} tokens: {4:b}, before {5:b}.",
        (e.layer, e.start, e.offset, e.capacity, e.retained, e.before),
    ),
    "frontier_moved": lambda e, _: ("The active path now ends at node #{0}: its frontier.", (e.node,)),
    "evicted": _evicted,
    "snapshot_taken": _snapshot_taken,
    "snapshot_placed": lambda e, _: ("Snapshot {0} is put on node #{1}.", (e.snapshot, e.node)),
    "snapshot_owned": lambda e, p: (
        f"Snapshot {{0}} becomes owned: {{1:b}} are copied. Rule{_rule(p, 'copy_before_overwrite')}: its place in the live buffer is about to be written over.",
        (e.snapshot, e.counted),
    ),
    "snapshot_closed": lambda e, _: ("Snapshot {0} is closed.", (e.snapshot,)),
    "paged_in": lambda e, _: ("Paged in: the live buffers hold the path up to token {1} again, from node #{0}.", (e.node, e.end)),
    "paged_out": lambda e, p: (
        f"Paged out: what node #{{0}} lacked is captured at token {{1}}. Rule{_rule(p, 'page_out', 'page_out_layers')}: a path that rests stays restorable.",
        (e.node, e.end),
    ),
    "scheduled": _scheduled,
    "captured": lambda e, _: ("All layers are captured at token {0}.", (e.end,)),
    "chunk_ran": lambda e, p: (
        f"The prompt's tokens [{{0}}, {{1}}) are evaluated. Rule{_rule(p, 'prefill_chunk')}: a chunk ends there, or at the next capture.",
        (e.start, e.end),
    ),
    "token_out": lambda e, _: ("Token {0} of the reply is there.", (e.index + 1,)),
    "warned": lambda e, _: ("Warning: {0}.", (e.message.rstrip("."),)),
    "allocated": lambda e, _: ("{0} take {1:b}.", (e.owner.capitalize(), e.retained)),
    "freed": lambda e, _: ("{0} give {1:b} back.", (e.owner.capitalize(), e.retained)),
    "pool_cleared": lambda e, _: ("The allocator's free buffers, {0:b}, go back to the system.", (e.pool,)),
    "bytes_read": _bytes_read,
    "request_closed": lambda e, _: (
        f"Request {{0}} is over after {{1}} new tokens: {STOPS.get(e.stop, e.stop or 'why was not recorded')}.",
        (e.request, e.generated),
    ),
    "wrong_positions": lambda e, _: (
        "Wrong positions: [{0}, {1}) of the {2} layers hold what request {3} wrote there.",
        (e.start, e.end, e.layer, e.belongs_to),
    ),
    "violation": lambda e, _: ("Rule {0} is broken: {1}.", (e.rule, e.message.rstrip("."))),
}
