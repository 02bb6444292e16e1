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
    told = ", ".join(f"{name}={_value(name, mine)} (main {_value(name, theirs)})" for name, (mine, theirs) in differs.items())
    return f"upstream main but {told}" if told else "upstream main"


def _value(name: str, value: Any) -> str:
    if name == "budget_bytes":
        return binary(value)
    return choice_words(value)
