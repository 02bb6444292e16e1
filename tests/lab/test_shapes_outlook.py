"""The outlook is a straight line through a few requests; a twin that runs until it evicts must agree with it."""

from __future__ import annotations

from itertools import islice

import pytest

import kvlab
from kvlab.events import BytesRead, Evicted
from kvlab.lab.outlook import REPLY, SHARED, UNIQUE, short_unrelated
from kvlab.policy import Policy
from kvlab.workloads import case
from tests.house.tree import ROOT

POLICIES = {"main": Policy(), "kvlab": Policy.kvlab()} | {version: Policy.ollama(version) for version in ("0.30.7", "0.30.8", "0.32.1", "0.33.0")}
BUDGETS = (3.3, 17.9, 41.02)
"""In times of what a request adds."""


def first_eviction(shape: str, policy: Policy, most: int) -> int | None:
    twin, requests = kvlab.twin(shape, policy), short_unrelated()
    for number in range(1, most + 1):
        if any(isinstance(event, Evicted) for event in twin.step(next(requests))):
            return number
    return None


@pytest.mark.parametrize(("shape", "request_number"), [("qwen3.8-27b", 28), ("qwen3.6-35b-a3b", None), ("gemma4-31b", None)])
def test_the_request_that_fills_8_gib(shape: str, request_number: int | None) -> None:
    outlook = kvlab.twin(shape).outlook
    assert outlook.budget == 8 * 2**30
    assert outlook.full_at == first_eviction(shape, Policy(), 200)
    # public issue 17875: flat from request 28 on
    assert request_number in (None, outlook.full_at)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("shape", ["qwen3.8-27b", "llama3.1-8b", "gemma4-31b", "tiny-sliding", "lfm2-1.2b"])
def test_the_line_and_the_run_agree(shape: str, policy: Policy) -> None:
    growth = kvlab.twin(shape, policy).outlook.growth
    assert growth > 0
    for times in BUDGETS:
        small = policy.replace(budget_bytes=round(growth * times))
        assert kvlab.twin(shape, small).outlook.full_at == first_eviction(shape, small, 60), times


def test_two_checkpoints_a_request_and_its_keys() -> None:
    twin = kvlab.twin("qwen3.8-27b")
    assert twin.outlook.nodes == 2
    # stored is what does not match, and with look-ahead 1 a token less matches; the reply's last token is never forwarded
    assert twin.outlook.growth == 2 * 153_944_064 + (UNIQUE + 1 + REPLY - 1) * 69_632
    assert twin.outlook.prompt == SHARED + UNIQUE


def test_requests_are_those_of_the_case() -> None:
    told = case(str(ROOT / "tests" / "cases" / "budget_short_unrelated_60.json"))
    assert {(len(request.tokens), request.limit) for request in told.requests} == {(SHARED + UNIQUE, REPLY)}
    made = list(islice(short_unrelated(), 3))
    assert len({request.tokens[:SHARED] for request in made}) == 1
    assert len({token for request in made for token in request.tokens[SHARED:]}) == 3 * UNIQUE


def test_a_cache_that_prunes_what_misses_may_not_fill() -> None:
    # a lone recurrent layer: nothing is cached at a match of 18 tokens until a checkpoint stands there
    twin = kvlab.twin(["recurrent"], Policy(on_miss="prune"))
    full = twin.outlook.full_at
    assert (full is None) == (twin.outlook.growth <= 0)


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_budget_smaller_than_a_request_is_passed_at_once(policy: Policy) -> None:
    # what evicts is another matter: a policy may protect the only path there is
    assert kvlab.twin("qwen3.8-27b", policy.replace(budget_bytes=1)).outlook.full_at == 1


def test_looking_ahead_leaves_the_twin_alone() -> None:
    twin = kvlab.twin("tiny-hybrid")
    list(twin.step(next(short_unrelated())))
    before = [twin.cache.trie.nodes, twin.closing.counted]
    assert twin.outlook.growth > 0
    assert [twin.cache.trie.nodes, twin.closing.counted] == before
    assert isinstance(twin.closing, BytesRead)
