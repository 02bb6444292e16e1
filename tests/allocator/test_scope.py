"""Scopes: what they hold ends with them, and using it later names them."""

from __future__ import annotations

import pytest

from kvlab.allocator.scope import Scope, ScopeEnded


def test_a_held_value_ends_with_its_scope() -> None:
    scope = Scope("snapshot 7")
    held = scope.hold([1, 2])
    assert held.value == [1, 2]
    scope.end()
    assert scope.ended
    with pytest.raises(ScopeEnded, match="snapshot 7"):
        _ = held.value


def test_results_leave_a_function_scope_only_by_keep() -> None:
    with Scope("merge of two snapshots") as scope:
        inner, result = scope.hold("consumed"), scope.hold("joined")
        kept = scope.keep(result)
    assert kept == "joined"
    for gone in (inner, result):
        with pytest.raises(ScopeEnded, match="merge of two snapshots"):
            _ = gone.value
