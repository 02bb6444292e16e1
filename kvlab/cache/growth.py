"""Growth: how the active path takes up new tokens, by the policy's choice.

`child_nodes`: a new child carries exactly its own captures, and the path stays short by merging. `in_place`: a leaf nobody asked to keep
drops its snapshots and grows under what is captured next (older releases).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from kvlab.trie import Node

if TYPE_CHECKING:
    from kvlab.cache.prefix import PrefixCache


def _by_child(cache: PrefixCache, node: Node, edge: bytes) -> Node:
    child = cache.trie.append(node, edge)
    child.snapshots = cache.paging.no_snapshots()
    cache.path.extend(child)
    return child


def _in_place(cache: PrefixCache, node: Node, edge: bytes) -> Node:
    if node.children or node.parent is None:
        return _by_child(cache, node, edge)
    if not node.user:
        cache.paging.close_all(node)
    if any(node.snapshots):
        return _by_child(cache, node, edge)
    cache.trie.extend(node, edge)
    return node


def _merge_before_frontier(cache: PrefixCache) -> None:
    nodes = cache.path.nodes
    if len(nodes) > 2 and not nodes[-2].user and len(nodes[-2].children) == 1:
        cache.merge(nodes[-1])


def _keep(cache: PrefixCache) -> None:
    del cache


GROW: dict[str, Callable[[PrefixCache, Node, bytes], Node]] = {"child_nodes": _by_child, "in_place": _in_place}
"""By name of the choice `growth`: takes up new keys below the frontier and returns the new frontier."""

COMPACT: dict[str, Callable[[PrefixCache], None]] = {"child_nodes": _merge_before_frontier, "in_place": _keep}
"""By name of the choice `growth`: shortens the path after it grew."""
