"""Consumed merge inputs: with `sweep` they stay until the next sweep and raise the peak, with `scopes` they do not. On real arrays."""

from __future__ import annotations

import pytest

from kvlab.allocator.scope import ScopeEnded
from kvlab.events import BytesRead, NodeMerged
from kvlab.lab.lab import Lab
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from kvlab.workloads import Request

LONG, OTHER = tuple(range(250)) * 8, tuple(reversed(range(250))) * 8
POLICY = Policy(prefill_chunk=256, capture_grid=256, budget_bytes=0)


def after_eviction(lifetimes: str) -> tuple[BytesRead, int]:
    """Let a second long request evict the path of the first; return what the ledger says then, and the tokens of all merge inputs."""
    lab = Lab(random_llama(hidden=128), POLICY.replace(lifetimes=lifetimes))
    list(lab.step(Request(tokens=LONG, max_new=1)))
    events = list(lab.step(Request(tokens=OTHER, max_new=1)))
    merged = sum(event.end - event.start for event in events if isinstance(event, NodeMerged))
    reads = [event for event in events if isinstance(event, BytesRead)]
    assert all(abs(read.unattributed) <= 1024 for read in reads)
    assert reads[-1].transient == 0
    return next(read for read in reads if read.phase == "attach"), merged * lab.shape.bytes_per_token


def test_sweep_keeps_merge_inputs_until_the_sweep_and_scopes_do_not() -> None:
    scopes, merged = after_eviction("scopes")
    sweep, merged_again = after_eviction("sweep")
    assert merged == merged_again > 0
    assert scopes.transient == 0
    assert sweep.transient >= merged
    assert sweep.active - sweep.weights - scopes.active + scopes.weights == pytest.approx(sweep.transient, rel=0.02)
    assert sweep.peak > scopes.peak


def test_a_closed_snapshots_arrays_cannot_be_used() -> None:
    lab = Lab(random_llama(), POLICY.replace(budget_bytes="1GiB"))
    list(lab.step(Request(tokens=LONG[:600], max_new=1)))
    list(lab.step(Request(tokens=OTHER[:600], max_new=1)))
    snapshot = next(one for node in lab.cache.trie.walk() for one in node.snapshots if one is not None and one.state == "owned")
    assert snapshot.data
    lab.cache.release()
    with pytest.raises(ScopeEnded, match=f"snapshot {snapshot.id}"):
        _ = snapshot.data
