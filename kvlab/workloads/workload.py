"""Workload: requests in order, under a name, with what a case knows about them. Plain data, no token of a real model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from kvlab.shape import Shape
from kvlab.visible_text import visible
from kvlab.workloads.request import Request

SHOWN = 8
"""Requests that `str` lists one by one."""


class OnAccess(Sequence[Request]):  # noqa: PLW1641  # compared, never hashed
    """`count` requests, each made by `request` from its place when it is read, so that a million of them take no bytes and no time before a run."""

    def __init__(self, count: int, request: Callable[[int], Request]) -> None:
        self._count = count
        self._request = request

    def __len__(self) -> int:
        return self._count

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OnAccess) and tuple(self) == tuple(other)

    @overload
    def __getitem__(self, place: int) -> Request: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Request, ...]: ...
    def __getitem__(self, place: int | slice) -> Request | tuple[Request, ...]:
        at = range(self._count)[place]
        return tuple(map(self._request, at)) if isinstance(at, range) else self._request(at)

    def __iter__(self) -> Iterator[Request]:
        return map(self._request, range(self._count))


@dataclass(frozen=True, slots=True)
class Workload:
    """Requests in order.

    Attributes:
        name: `unrelated:15`, or a case's id.
        requests: The requests, oldest first; those of a trace and of a scenario are made on access.
        policy: Choices that differ from today's upstream main; may hold `version`. `Policy.from_dict` reads it.
        shape: The model a case describes; None when any model will do.
        question: The question a case answers; "" for none.
        expected: What a case expects, as its file says it.
        shape_name: The twin's default shape for it, a shipped one; "" for any.
        model: A real run's default model for it; "" for any.

    Example:
        >>> import kvlab
        >>> work = kvlab.workloads.Workload("two", (kvlab.Request(prompt="Why?"), kvlab.Request(prompt="How?")))
        >>> len(work)
        2
    """

    name: str
    requests: Sequence[Request]
    policy: dict[str, Any] = field(default_factory=dict[str, Any])
    shape: Shape | None = None
    question: str = ""
    expected: dict[str, Any] = field(default_factory=dict[str, Any])
    shape_name: str = ""
    model: str = ""

    @property
    def needs_check(self) -> bool:
        """Whether only a checked run answers it: it is about right answers, or expects broken rules or wrong positions."""
        wrong = any("wrong_positions" in one for one in self.expected.get("checkpoints", ()))
        return self.question == "is_the_answer_right" or "violation" in self.expected or wrong

    def __len__(self) -> int:
        return len(self.requests)

    def __str__(self) -> str:
        """The workload in words: its requests by label and size, the first ones when there are many; no prompt."""
        count = len(self.requests)
        head = f"Workload {self.name}: {count:,} request{'' if count == 1 else 's'}{f', about {self.question}' if self.question else ''}"
        policy = [f"  policy: {', '.join(f'{name}={value}' for name, value in self.policy.items())}"] if self.policy else []
        rows = [f"  {place + 1:>3}  {self.requests[place].size_words}" for place in range(min(count, SHOWN))]
        return visible("\n".join([head, *policy, *rows, *([f"  … and {count - SHOWN:,} more"] if count > SHOWN else [])]))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: FBT001  # IPython's own signature
        del cycle
        printer.text(str(self))
