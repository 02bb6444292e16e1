"""Workload: requests in order, under a name, with what a case knows about them. Plain data, no token of a real model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from kvlab.shape import Shape
from kvlab.workloads.request import Request


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests in order.

    Attributes:
        name: `unrelated:15`, or a case's id.
        requests: What is asked, oldest first; those of a trace are made when they are asked for.
        policy: Choices that differ from today's upstream main; may hold `version`. `Policy.from_dict` reads it.
        shape: The model a case describes; None when any model will do.
        question: The question a case answers; "" for none.
        expected: What a case expects, as its file says it.
        shape_name: The shipped shape that the twin takes unless told otherwise; "" for any.
        model: The model that a real run takes unless told otherwise; "" for any.
    """

    name: str
    requests: Sequence[Request]
    policy: dict[str, Any] = field(default_factory=dict[str, Any])
    shape: Shape | None = None
    question: str = ""
    expected: dict[str, Any] = field(default_factory=dict[str, Any])
    shape_name: str = ""
    model: str = ""

    def __len__(self) -> int:
        return len(self.requests)
