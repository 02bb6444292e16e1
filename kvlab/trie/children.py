"""What hangs below a node: found by its first key, hung, put in another's place, taken off.

Invariants: as in `node.py`; an entry that is replaced keeps its place in the order. Nodes with the same parent and the same
first key, which only a damaged trie has, form a chain along `sibling` under one entry.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvlab.trie.keys import key_at
from kvlab.trie.node import Node


def below(node: Node, keys: bytes, at: int, width: int) -> Node | None:
    """Return the child of `node` that may go on with `keys` from token `at`: an only child without a look at its first key."""
    if node.several is None:
        return node.only
    return node.several.get(key_at(keys, at, width))


def hang(parent: Node, child: Node, width: int) -> None:
    """Put `child` below `parent`, of whose children none has its first key."""
    if parent.several is not None:
        parent.several[key_at(child.edge, 0, width)] = child
    elif parent.only is None:
        parent.only = child
    else:
        parent.several = {key_at(one.edge, 0, width): one for one in (parent.only, child)}
        parent.only = None


def replace(parent: Node, old: Node, new: Node, width: int) -> None:
    """Put `new`, which has the same first key, in the place of `old`."""
    key = key_at(old.edge, 0, width)
    entry = _entry(parent, key)
    new.sibling, old.sibling = old.sibling, None
    if entry is old:
        _set(parent, key, new)
    else:
        _before(entry, old).sibling = new


def take_off(parent: Node, child: Node, width: int) -> None:
    """Take `child` from below `parent`."""
    key = key_at(child.edge, 0, width)
    entry = _entry(parent, key)
    if entry is not child:
        _before(entry, child).sibling = child.sibling
    elif child.sibling is not None:
        _set(parent, key, child.sibling)
    elif parent.several is None:
        parent.only = None
    else:
        del parent.several[key]
        if len(parent.several) == 1:
            (parent.only,) = parent.several.values()
            parent.several = None
    child.sibling = None


def chain(child: Node | None) -> Iterator[Node]:
    """Yield `child` and its siblings with the same first key."""
    while child is not None:
        yield child
        child = child.sibling


def _entry(parent: Node, key: int) -> Node | None:
    return parent.only if parent.several is None else parent.several[key]


def _set(parent: Node, key: int, child: Node) -> None:
    if parent.several is None:
        parent.only = child
    else:
        parent.several[key] = child


def _before(entry: Node | None, child: Node) -> Node:
    return next(one for one in chain(entry) if one.sibling is child)
