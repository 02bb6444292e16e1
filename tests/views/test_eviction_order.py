"""The page's eviction order is the cache's own: kvlab/views/page/scene.js beside kvlab/cache/victims.py, node by node, on the same runs."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

import kvlab
from kvlab.cache.victims import ORDERS
from kvlab.events import BytesRead, Event
from kvlab.lab.twin import Twin
from kvlab.policy import CHOICES, Policy
from kvlab.views.dashboard.about import about_source
from kvlab.views.dashboard.dataset import Dataset
from tests.views.dashboard_page import load

MOMENTS = ("prefill", "attach", "close")
"""Readings after which the cache rests until the next event is asked for."""


def test_every_order_is_known_to_the_page() -> None:
    assert set(ORDERS) == set(CHOICES["evict_order"])


# a conversation is one path: where the active path is protected it has no candidate
@pytest.mark.parametrize(("workload", "protect"), [("branches:6", "frontier_and_branches"), ("branches:6", "active_path"), ("chat:5", "frontier_and_branches")])
@pytest.mark.parametrize("order", CHOICES["evict_order"])
def test_the_whole_order_at_every_rest(page: Page, workload: str, order: str, protect: str) -> None:
    twin = Twin(kvlab.twin("smollm2").shape, Policy(budget_bytes=12 << 20, evict_order=order, protect=protect))
    events: list[Event] = []
    expected: dict[int, list[int]] = {}
    for request in kvlab.workloads.resolve(workload).requests:
        for event in twin.step(request):
            events.append(event)
            if isinstance(event, BytesRead) and event.phase in MOMENTS:
                expected[event.seq] = order_of(twin, order)
    data = Dataset(about_source(twin))
    data.take(events)
    load(page, data.whole())
    drawn = page.evaluate("seqs => seqs.map(seq => store.scene(store.placeOf(seq)).candidates())", list(expected))
    assert dict(zip(expected, drawn, strict=True)) == expected
    assert max(map(len, expected.values())) > 4


def order_of(twin: Twin, order: str) -> list[int]:
    """Return all nodes that may be evicted, first one first, as a walk over the cache's own trie gives them."""
    cache: Any = twin.cache
    nodes = [node for node in cache.trie.walk() if not cache._is_protected(node)]
    return [node.id for node in sorted(nodes, key=lambda node: (*ORDERS[order](node), node.id))]
