"""A policy in words: what is printed of a choice can be given back to `--set`."""

from __future__ import annotations

import pytest

import kvlab
from kvlab.errors import BadValue
from kvlab.policy import CHOICES, EVICT_MOMENTS, Policy, choice_words
from kvlab.recording.policy_words import policy_words
from kvlab.shape import LayerGroup, Shape


@pytest.mark.parametrize("moments", [EVICT_MOMENTS, frozenset({"begin"}), frozenset[str]()])
def test_a_set_of_moments_comes_back(moments: frozenset[str]) -> None:
    printed = choice_words(Policy().replace(evict_at=moments).to_dict()["evict_at"])
    assert Policy().replace(evict_at=printed).evict_at == moments


@pytest.mark.parametrize("field", CHOICES)
def test_every_name_comes_back(field: str) -> None:
    for name in CHOICES[field]:
        assert choice_words(Policy().replace(**{field: name}).to_dict()[field]) == name


def test_a_manifest_s_policy_says_its_moments_as_they_are_set() -> None:
    assert "evict_at=begin,close" in policy_words(Policy(evict_at=frozenset({"close", "begin"})).to_dict())


def test_a_server_newer_than_known_is_judged_by_the_newest_known_rules() -> None:
    assert Policy.of_server("0.99.0") == Policy.ollama("0.34.2")
    with pytest.raises(BadValue, match=r"0\.99\.0 is newer"):
        Policy.ollama("0.99.0")


def test_a_difference_that_no_layer_of_a_shape_follows_is_left_out() -> None:
    before, after = Policy.ollama("0.32.5"), Policy.ollama("0.32.7")
    assert set(before.diff(after)) == {"copy_before_overwrite", "draft_states"}
    assert set(before.diff(after, kvlab.twin("smollm2").shape)) == {"copy_before_overwrite"}
    rounds = Shape("drafted", (LayerGroup("recurrent", (0,), state_bytes=8, round_states=3), LayerGroup("draft_kv", (1,), bytes_per_token=1)), look_ahead=1)
    assert set(before.diff(after, rounds)) == {"copy_before_overwrite", "draft_states"}
    assert {"settle_draft", "draft_keys"} <= set(Policy.ollama("0.30.8").diff(Policy(), rounds))
    # no draft head, nothing to settle and no pairs
    assert not {"settle_draft", "draft_keys"} & set(Policy.ollama("0.30.8").diff(Policy(), kvlab.twin("tiny-hybrid").shape))
