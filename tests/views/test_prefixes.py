"""Common nodes are those that hold the same tokens, whatever their numbers, their place and the request that made them."""

from __future__ import annotations

from dataclasses import replace

import pytest

import kvlab
from kvlab.events import FrontierMoved, Matched, NodeBorn, NodeRemoved, NodeSplit, RequestBegan, RequestClosed
from kvlab.recording import Recording
from kvlab.views.compare.comparison import BY_REQUEST, Comparison, compare
from kvlab.views.outline_rows import OutlineRow
from tests.views.conftest import Script

MIB = 2**20

Row = tuple[str, int | None, int | None]


def rows(comparison: Comparison) -> list[Row]:
    return [(row.side, row.a and row.a.node, row.b and row.b.node) for row in comparison.tries(comparison.last)]


def three(*, evicts: bool) -> Recording:
    """Three requests that begin with the same 4 tokens. With `evicts` all of request 1 goes before request 3, which makes the beginning anew."""
    script = Script()
    script.add(NodeBorn(node=0))
    for request, label in enumerate(("one", "two", "three"), 1):
        script.log.request = request
        script.add(RequestBegan(label=label, tokens=6 + request))
        if request == 1:
            script.add(Matched(tokens=7, left=7), NodeBorn(node=1, parent=0, end=7), FrontierMoved(node=1))
        elif request == 2:
            script.add(Matched(tokens=8, matched=4, cached=4, left=4), NodeSplit(node=1, head=2, end=4), NodeBorn(node=3, parent=2, start=4, end=8))
            script.add(FrontierMoved(node=3))
        elif evicts:
            script.add(FrontierMoved(node=0), *(NodeRemoved(node=node) for node in (1, 3, 2)))
            script.add(Matched(tokens=9, left=9), NodeBorn(node=4, parent=0, end=4), NodeBorn(node=5, parent=4, start=4, end=9), FrontierMoved(node=5))
        else:
            script.add(FrontierMoved(node=2), Matched(tokens=9, matched=4, cached=4, left=5))
            script.add(NodeBorn(node=4, parent=2, start=4, end=9), FrontierMoved(node=4))
        script.read("close")
        script.add(RequestClosed(generated=1, stop="limit"))
    return script.recording()


def test_a_beginning_that_another_request_made_again_is_the_same_node() -> None:
    made = compare(three(evicts=False), three(evicts=True))
    assert rows(made) == [("both", 0, 0), ("both", 2, 4), ("only A", 1, None), ("only A", 3, None), ("both", 4, 5)]
    assert rows(compare(three(evicts=True), three(evicts=False))) == [("both", 0, 0), ("both", 4, 2), ("only B", None, 1), ("only B", None, 3), ("both", 5, 4)]
    assert BY_REQUEST in made.text()


def test_requests_of_one_number_and_other_lengths_have_nothing_in_common() -> None:
    script = Script()
    script.add(NodeBorn(node=0))
    script.log.request = 1
    script.add(RequestBegan(label="other", tokens=12), Matched(tokens=12, left=12), NodeBorn(node=1, parent=0, end=7), FrontierMoved(node=1))
    script.read("close")
    script.add(RequestClosed(stop="no_reply"))
    made = compare(three(evicts=False), script.recording())
    assert [(row.side, row.one.node) for row in made.tries(1)] == [("both", 0), ("only A", 1), ("only B", 1)]


def test_stored_tokens_are_found_under_any_request() -> None:
    """B asks what A asks, in the other order: every number of a node and of a request is another one."""
    workload = kvlab.workloads.named("branches:4")
    asked = [replace(request, label="") for request in workload.requests]
    runs = [kvlab.twin("smollm2").run(replace(workload, requests=tuple(order)), store_text=True, progress=False) for order in (asked, list(reversed(asked)))]
    made = compare(*runs)
    assert made.prefixes.by_tokens
    assert BY_REQUEST not in made.text()
    found = made.tries(made.last)
    common = [(row.a, row.b) for row in found if row.a and row.b and row.a.node]
    assert any(a.node != b.node and a.request != b.request for a, b in common)
    truth = [{tuple(tokens[: row.end]) for row, tokens in nodes} for nodes in (held(made, 0), held(made, 1))]
    ends = [{(row.start, tuple(tokens[: row.end])) for row, tokens in nodes} for nodes in (held(made, 0), held(made, 1))]
    assert len(common) == len(ends[0] & ends[1])
    assert truth[0] & truth[1]


def held(comparison: Comparison, side: int) -> list[tuple[OutlineRow, list[int]]]:
    """Return the nodes of one side, the root left out, each with the tokens of the request that made it."""
    run = comparison.prefixes.runs[side]
    tokens = run.recording.tokens
    nodes = [row.a if side == 0 else row.b for row in comparison.tries(comparison.last)]
    return [(row, tokens[row.request]) for row in nodes if row is not None and row.node]


@pytest.mark.parametrize("workload", ["branches:8", "chat:6", "unrelated:12"])
def test_requests_tell_what_tokens_tell(workload: str) -> None:
    """Two runs of one workload whose nodes have other numbers: what a match saw is what the tokens say."""
    twin = kvlab.twin("smollm2")
    policies = [
        twin.policy.replace(budget_bytes=12 * MIB),
        twin.policy.replace(budget_bytes=16 * MIB, evict_order="cost", capture_grid=24),
    ]
    told = compare(*(twin.run(workload, policy=policy, store_text=True, progress=False) for policy in policies))
    untold = compare(*(twin.run(workload, policy=policy, progress=False) for policy in policies))
    assert told.prefixes.by_tokens
    assert not untold.prefixes.by_tokens
    for request in range(1, told.last + 1):
        by_tokens, by_requests = ([(row.side, row.depth, row.one.start, row.one.end) for row in made.tries(request)] for made in (told, untold))
        assert by_tokens == by_requests
    common = [(row.a, row.b) for request in range(1, told.last + 1) for row in told.tries(request) if row.a and row.b]
    assert any(a.node != b.node for a, b in common)
