"""The parts of a live object as a tree: cache, session, layers, trie, policy; each with the path that reaches it in Python.

The middle form (`Part`) is plain text and numbers; it holds no array. Text and HTML are two printings of it; the HTML folds and has no script.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from kvlab.cache import Cache, Session
from kvlab.policy import Policy, choice_words
from kvlab.trie import Node
from kvlab.units import binary

MOST = 24
"""A part shows at most so many parts below it."""


@dataclass(frozen=True, slots=True)
class Part:
    """One part of an object.

    Attributes:
        path: How it is reached from the whole, such as `.layers[0]`; "" for the whole itself.
        words: What it is.
        below: Its own parts.
    """

    path: str
    words: str
    below: tuple[Part, ...] = ()


def tree(obj: Any) -> Part | None:
    """Return the parts of a Cache, Session, Layer, Policy or Node; None for anything else."""
    return next((make(obj, "") for kind, make in _MAKERS if isinstance(obj, kind)), None) or (_layer(obj, "") if _is_layer(obj) else None)


def tree_text(part: Part) -> str:
    """Return a tree as text, a line a part, with the path that reaches it."""
    return "\n".join(f"{'  ' * depth}{path}{'  ' if path else ''}{one.words}" for depth, path, one in _walk(part))


def tree_html(part: Part) -> str:
    """Return a tree as an HTML fragment that folds; a path can be copied as it is."""
    path = f"<code>{escape(part.path)}</code> " if part.path else ""
    if not part.below:
        return f"<div style='padding-left:1.2em'>{path}{escape(part.words)}</div>"
    below = "".join(tree_html(one) for one in part.below)
    unfolded = " open" if not part.path else ""
    return f"<details{unfolded} style='padding-left:0.4em'><summary>{path}{escape(part.words)}</summary><div style='padding-left:1em'>{below}</div></details>"


def _walk(part: Part, depth: int = 0) -> Iterator[tuple[int, str, Part]]:
    yield depth, part.path, part
    for one in part.below:
        yield from _walk(one, depth + 1)


def _some(parts: list[Part]) -> tuple[Part, ...]:
    left = len(parts) - MOST
    return tuple(parts[:MOST]) + ((Part("", f"… and {left} more"),) if left > 0 else ())


def _policy(policy: Policy, path: str) -> Part:
    main = Policy().to_dict()
    choices = policy.to_dict()
    words_of = {name: _choice(name, value) for name, value in choices.items()}
    below = tuple(Part(f"{path}.{name}", f"{words}{'' if choices[name] == main[name] else '  (not as main)'}") for name, words in words_of.items())
    differs = sum(choices[name] != main[name] for name in choices)
    return Part(path, f"Policy: {'as upstream main' if not differs else f'{differs} of {len(choices)} choices are not as upstream main'}", below)


def _choice(name: str, value: Any) -> str:
    return binary(value) if name.endswith("_bytes") else choice_words(value)


def _layer(layer: Any, path: str) -> Part:
    store = layer.store
    below = (
        Part(f"{path}.offset", f"{layer.offset} tokens in the live buffers"),
        Part(f"{path}.store.live_logical()", f"{binary(store.live_logical())} filled"),
        Part(f"{path}.store.live_retained()", f"{binary(store.live_retained())} kept alive"),
        Part(f"{path}.lazies", f"{len(layer.lazies)} lazy snapshots"),
    )
    rewinds = "rewinds to any offset" if layer.rewinds else "is restored where there is a snapshot"
    return Part(path, f"Layer of kind {layer.kind}: {rewinds}", below)


def _node(node: Node, path: str) -> Part:
    held = [(place, one) for place, one in enumerate(node.snapshots) if one is not None]
    below = tuple(Part(f"{path}.snapshots[{place}]", f"{one.state} [{one.start}, {one.end}), {binary(one.counted)} counted") for place, one in held)
    marks = [word for word, on in (("active", node.active), ("user", node.user)) if on]
    return Part(path, f"{node!r}, {node.tokens} tokens, {binary(node.counted)} counted{''.join(f', {mark}' for mark in marks)}", below)


def _cache(cache: Cache, path: str) -> Part:
    path_nodes = [_node(node, f"{path}.path.nodes[{place}]") for place, node in enumerate(cache.path.nodes)]
    below = (
        _policy(cache.policy, f"{path}.policy"),
        Part(f"{path}.layers", f"{len(cache.layers)} layer groups", _some([_layer(one, f"{path}.layers[{place}]") for place, one in enumerate(cache.layers)])),
        Part(f"{path}.path", f"active path to {cache.path.frontier!r}", _some(path_nodes)),
        Part(f"{path}.trie", f"{cache.trie.nodes} nodes", (_node(cache.trie.root, f"{path}.trie.root"),)),
        Part(f"{path}.counted", f"{binary(cache.counted)} of a budget of {binary(cache.policy.budget_bytes)}"),
        Part(f"{path}.live_bytes", f"{binary(cache.live_bytes)} retained by the live buffers"),
    )
    return Part(path, f"{type(cache).__name__}: {cache.trie.nodes} nodes, {binary(cache.counted)} counted, live buffers at token {cache.offset}", below)


def _session(session: Session, path: str) -> Part:
    below = (
        Part(f"{path}.matched", f"{session.matched} tokens agree with the trie"),
        Part(f"{path}.cached", f"{session.cached} tokens were restored"),
        Part(f"{path}.left", f"{session.left} tokens to evaluate"),
        Part(f"{path}.reason", session.reason),
        Part(f"{path}.captures.due()", f"captures to come at {', '.join(map(str, session.captures.due())) or 'no offset'}"),
    )
    return Part(path, f"Session over {len(session.tokens)} tokens{', closed' if session.closed else ''}", below)


def _is_layer(obj: Any) -> bool:
    return type(obj).__module__.startswith("kvlab.layers.") and all(hasattr(obj, name) for name in ("store", "lazies", "rewinds"))


_MAKERS: tuple[tuple[type, Callable[[Any, str], Part]], ...] = ((Cache, _cache), (Session, _session), (Policy, _policy), (Node, _node))

SHOWN: tuple[str, ...] = (
    "kvlab.cache.cache.Cache",
    "kvlab.cache.session.Session",
    "kvlab.policy.Policy",
    "kvlab.trie.node.Node",
    "kvlab.layers.kv.KVLayers",
    "kvlab.layers.state.StateLayers",
)
"""The classes that show themselves as a tree after `%load_ext kvlab`."""
