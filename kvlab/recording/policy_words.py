"""A policy in words: how it differs from today's upstream main."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kvlab.errors import BadValue
from kvlab.policy import Policy, choice_words
from kvlab.units import binary


def policy_words(choices: Mapping[str, Any]) -> str:
    """Return a manifest's policy such as `upstream main but protect=active_path (main frontier_and_branches)`; bytes with their unit.

    A choice that this kvlab does not have is named; no choices at all are `not known`.
    """
    if not choices:
        return "not known"
    try:
        differs = Policy.from_dict(dict(choices)).diff(Policy())
    except BadValue as error:
        return f"not known ({error.what})"
    differences = ", ".join(f"{name}={value_words(name, mine)} (main {value_words(name, theirs)})" for name, (mine, theirs) in differs.items())
    return f"upstream main but {differences}" if differences else "upstream main"


def value_words(name: str, value: Any) -> str:
    """Return one choice's value in words: bytes with their unit."""
    if name == "budget_bytes":
        return binary(value)
    return choice_words(value)
