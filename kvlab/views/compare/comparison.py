"""Comparison: two recordings, request by request.

The axis is the number of the request: request 7 of A next to request 7 of B, at their ends. Differences are B - A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from kvlab.display import Rich
from kvlab.errors import require_types
from kvlab.policy import Policy
from kvlab.recording import Moment, Recording
from kvlab.recording.policy_words import policy_words, value_words
from kvlab.units import unit_that_shows
from kvlab.views import text_table
from kvlab.views.compare.aligned import AlignedRow, aligned_rows, aligned_text
from kvlab.views.compare.prefixes import Prefixes
from kvlab.views.tables import largest
from kvlab.visible_text import visible

OWNERS = ("counted", "snapshots", "live", "unattributed", "pool", "active")
"""Whose bytes are compared, at each request's end."""

BY_REQUEST = "tokens were not stored: a node is common where requests of one number, label and length made it"

TOKENS = ("tokens", "matched", "cached", "left", "generated")


@dataclass(frozen=True, slots=True, eq=False)
class Comparison(Rich):
    """Two recordings on one axis.

    Attributes:
        a: The first one.
        b: The second one; differences are what it has more.
        prefixes: What their nodes hold, in keys that both share.
    """

    a: Recording
    b: Recording
    prefixes: Prefixes

    @property
    def policy(self) -> dict[str, tuple[Any, Any]]:
        """The choices in which the policies differ, as (A's, B's); {} when one of them is not known."""
        if self.a.policy is None or self.b.policy is None:
            return {}
        return Policy.diff(self.a.policy, self.b.policy)

    @property
    def policy_lines(self) -> list[str]:
        """A line a choice in which the policies differ, such as `policy protect: A frontier_and_branches, B active_path`."""
        return [f"policy {name}: A {value_words(name, mine)}, B {value_words(name, theirs)}" for name, (mine, theirs) in self.policy.items()]

    @property
    def requests(self) -> pl.DataFrame:
        """A row a request that either has: `tokens_a`, `tokens_b`, … and `counted_a`, `counted_b`, `counted_difference`, … in bytes."""
        names = ("label", *TOKENS, "reason", *OWNERS)
        sides = [side.requests.select("request", *(pl.col(name).alias(f"{name}_{tag}") for name in names)) for tag, side in (("a", self.a), ("b", self.b))]
        joined = sides[0].join(sides[1], on="request", how="full", coalesce=True).sort("request")
        return joined.with_columns((pl.col(f"{name}_b") - pl.col(f"{name}_a")).alias(f"{name}_difference") for name in (*TOKENS, *OWNERS))

    def moments(self, request: int) -> tuple[Moment, Moment] | None:
        """Return both moments at the end of a request; None when one of them did not get there."""
        first, second = self.a.end_of(request), self.b.end_of(request)
        return None if first is None or second is None else (self.a.at(first), self.b.at(second))

    def tries(self, request: int) -> list[AlignedRow]:
        """Return the tries at the end of a request side by side, common nodes in one row; empty when one of them did not get there."""
        both = self.moments(request)
        return aligned_rows(*both, self.prefixes) if both else []

    @property
    def last(self) -> int:
        """The last request that both have; 0 when there is none."""
        numbers = set(self.a.requests.get_column("request")) & set(self.b.requests.get_column("request"))
        return max(numbers, default=0)

    def text(self, most: int = 40) -> str:
        """Return the comparison as text."""
        table = self.requests
        biggest = max(largest(table, f"{name}_{tag}") for name in ("counted", "live") for tag in "ab")
        columns = [("cached", "a"), ("cached", "b"), *((name, tag) for name in ("counted", "live", "active") for tag in ("a", "b", "difference"))]
        titles = ["request", "label", "tokens", *(f"{name} {'B - A' if tag == 'difference' else tag.upper()}" for name, tag in columns)]
        # of very different sizes the smaller one, and small differences, must not look like nothing
        unit = unit_that_shows(biggest, (value for name, tag in columns if name != "cached" for value in table.get_column(f"{name}_{tag}")))
        rows = [
            [
                row["request"],
                row["label_a"] or row["label_b"] or "",
                row["tokens_a"] if row["tokens_a"] is not None else row["tokens_b"],
                *((row[f"{name}_{tag}"] if name == "cached" else unit.shown(row[f"{name}_{tag}"])) for name, tag in columns),
            ]
            for row in table.iter_rows(named=True)
        ]
        head = [
            *(
                f"{tag}: {side.manifest.model}, {side.manifest.workload or 'no workload'}, policy {policy_words(side.manifest.policy)}"
                for tag, side in self.sides
            ),
            *self.policy_lines,
            *([] if self.prefixes.by_tokens else [BY_REQUEST]),
            f"bytes at each request's end, in {unit.name}",
        ]
        parts = ["\n".join(head), text_table.columns(titles, text_table.shortened(rows, most), left=(1,))]
        return "\n\n".join([*parts, f"after request {self.last}: {aligned_text(self.tries(self.last))}"] if self.last else parts)

    @property
    def sides(self) -> tuple[tuple[str, Recording], tuple[str, Recording]]:
        """Both with their letters."""
        return ("A", self.a), ("B", self.b)

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON holds it."""
        made = {tag.lower(): {"model": side.manifest.model, "workload": side.manifest.workload, "source": side.manifest.source} for tag, side in self.sides}
        policies = [side.policy.to_dict() for _, side in self.sides if side.policy is not None]
        counts = {side: sum(row.side == side for row in self.tries(self.last)) for side in ("both", "only A", "only B")}
        return {
            **made,
            "policy": {name: [choices[name] for choices in policies] for name in self.policy},
            "requests": self.requests.to_dicts(),
            "nodes_at_the_end": {"request": self.last} | {name.replace(" ", "_").lower(): count for name, count in counts.items()},
        }

    def __repr__(self) -> str:
        return visible(self.text())


def compare(a: Recording, b: Recording) -> Comparison:
    """Return two recordings on one axis: what B does otherwise than A, by owner, by request, and node by node.

    Raises:
        BadValue: one of them is no recording.

    Example:
        >>> import kvlab
        >>> twin = kvlab.twin("smollm2")
        >>> first, second = (twin.run("unrelated:3", policy=policy, progress=False) for policy in (None, kvlab.Policy(budget_bytes=0)))
        >>> kvlab.compare(first, second).requests["counted_b"].to_list()
        [0, 0, 0]
    """
    require_types((name, one, Recording, "a recording, as lab.run and kvlab.load return one") for name, one in (("a", a), ("b", b)))
    return Comparison(a, b, Prefixes(a, b))
