"""Paging: between the live buffers and the snapshots on nodes. All layers move together.

Invariant: after `switch`, `page_out` and `close_all` every layer rests at one offset.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvlab.cache.media import before
from kvlab.cache.path import ActivePath
from kvlab.events import Event, PagedIn, PagedOut, Warned
from kvlab.layers import Layer, Snapshot, SnapshotRegistry
from kvlab.policy import Policy
from kvlab.trie import Match, Node
from kvlab.workloads.request import MediaItem

FREE_ALL = "failed to restore cache, freeing all caches"
"""The beginning of the warning that a restore was refused and all layers were freed, as in Ollama's log."""


class Paging:
    """Pages the layers in and out."""

    def __init__(self, layers: Sequence[Layer], registry: SnapshotRegistry, policy: Policy, emit: Callable[[Event], None]) -> None:
        self._layers = layers
        self._registry = registry
        self._all_or_none = policy.page_out_layers == "all_or_none"
        self._at_switch = policy.page_out == "at_switch"
        self._replaces = policy.attach == "replace"
        self._emit = emit

    @property
    def offset(self) -> int:
        """The lowest offset of all layers; between steps they all rest at it."""
        return min(layer.offset for layer in self._layers)

    def no_snapshots(self) -> list[Snapshot | None]:
        """Return the snapshots of a node that has none."""
        return [None] * len(self._layers)

    def switch(self, path: ActivePath, found: Match, items: Sequence[MediaItem] = ()) -> tuple[int, str]:
        """Bring all layers as far along `found` as they can go, and not to rest inside a whole one of `items`.

        Return the offset up to which the path is followed (the live one, except when all layers were freed after a refusal), and the kind of
        layer that refused, or of the first whose state can be restored at few places only; "" when there is none.
        """
        if self._at_switch:
            self._page_out_leaf(path, found)
        self._rewind(before(items, min(path.shared_end(found.path), found.matched)))
        refused = self._page_in(found, items)
        return self._align(), refused or next((layer.kind for layer in self._layers if not layer.rewinds), "")

    def page_out(self, node: Node) -> bool:
        """Snapshot the layers that the frontier `node` lacks, if the policy does so at a request's end; return whether there were any."""
        if self._at_switch or (self._all_or_none and any(node.snapshots)):
            return False
        missing = [group for group, snapshot in enumerate(node.snapshots) if snapshot is None]
        for group in missing:
            if (snapshot := self._layers[group].snapshot(node.start)) is not None:
                self._registry.place(snapshot, node)
        if missing:
            self._emit(PagedOut(node=node.id, start=node.start, end=node.end))
        return bool(missing)

    def attach(self, snapshots: Sequence[Snapshot], node: Node) -> None:
        """Put captured snapshots on `node`: clipped to its edge and next to those it has, or in their place (older releases)."""
        if self._replaces:
            self.close_all(node)
        for snapshot in snapshots:
            if self._replaces:
                self._registry.place(snapshot, node)
            else:
                self._install(snapshot, node)

    def rewind(self, target: int) -> None:
        """Bring all layers to one offset of at most `target`; those that cannot go there are freed."""
        self._rewind(target)
        self._align()

    def _install(self, snapshot: Snapshot, node: Node) -> None:
        layer = self._layers[snapshot.group]
        before, within = layer.split(snapshot, node.start)
        if before is not None:
            layer.close(before)
        if within is None:
            return
        if node.snapshots[snapshot.group] is None:
            self._registry.place(within, node)
        else:
            layer.close(within)

    def split(self, node: Node, head: Node) -> None:
        """Share out the snapshots of `node`, of whose edge `head` took the first part."""
        for group, layer in enumerate(self._layers):
            snapshot = node.snapshots[group]
            if snapshot is not None:
                self._registry.lift(snapshot)
                first, second = layer.split(snapshot, head.end)
                self._place(first, head)
                self._place(second, node)

    def merge(self, head: Node, node: Node) -> None:
        """Join the snapshots of `head` and of its only child `node` on `node`."""
        for group, layer in enumerate(self._layers):
            first, second = head.snapshots[group], node.snapshots[group]
            for snapshot in (first, second):
                if snapshot is not None:
                    self._registry.lift(snapshot)
            self._place(layer.merge(first, second), node)

    def close_all(self, node: Node) -> None:
        """Close every snapshot of `node`."""
        for layer, snapshot in zip(self._layers, node.snapshots, strict=False):
            if snapshot is not None:
                layer.close(snapshot)

    def _page_out_leaf(self, path: ActivePath, found: Match) -> None:
        # When the request leaves the leaf, or goes back before its end: if it lacks any, all its snapshots are taken again.
        leaf = path.frontier
        if leaf.parent is not None and (leaf not in found.path or found.matched < leaf.end) and None in leaf.snapshots:
            snapshots = [layer.snapshot(leaf.start) for layer in self._layers]
            self.close_all(leaf)
            for snapshot in snapshots:
                self._place(snapshot, leaf)
            self._emit(PagedOut(node=leaf.id, start=leaf.start, end=leaf.end))

    def _rewind(self, target: int) -> None:
        for layer in self._layers:
            if not layer.restore(None, target):
                layer.free()

    def _page_in(self, found: Match, items: Sequence[MediaItem]) -> str:
        for node in found.path:
            target = min(node.end, found.matched)
            # A prompt that ends with an item leaves states inside it, from which nothing can continue.
            whole_states = before(items, target) == target
            restored = False
            for group, layer in enumerate(self._layers):
                snapshot = node.snapshots[group]
                if snapshot is not None and layer.offset < target and (layer.rewinds or whole_states):
                    if not layer.restore(snapshot, target):
                        return layer.kind
                    restored = True
            if restored:
                self._emit(PagedIn(node=node.id, start=node.start, end=target))
        return ""

    def _align(self) -> int:
        low = self.offset
        if not all(layer.offset == low or layer.restore(None, low) for layer in self._layers):
            self._emit(Warned(message=f"{FREE_ALL} (offset {low})"))
            for layer in self._layers:
                layer.free()
        return low

    def _place(self, snapshot: Snapshot | None, node: Node) -> None:
        if snapshot is not None:
            self._registry.place(snapshot, node)
