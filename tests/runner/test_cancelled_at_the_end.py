"""A prefill ends before the prompt's last token, so a cancel at the last one is a cancel where the prefill ends.

Upstream's loop evaluates all but the last token before the first step of the reply (x/mlxrunner/pipeline.go).
"""

from __future__ import annotations

import pytest

from kvlab.lab import open_twin
from kvlab.policy import Policy
from kvlab.workloads import Request, Workload

COLUMNS = ("matched", "cached", "evaluated", "nodes", "counted", "reason")


@pytest.mark.parametrize("kinds", [("kv",), ("kv", "recurrent"), ("kv", "rotating")])
@pytest.mark.parametrize("version", ["0.32.5", "0.32.7", "0.33.0", "main"])
def test_a_cancel_at_the_last_token_is_one_where_the_prefill_ends(kinds: tuple[str, ...], version: str) -> None:
    policy = Policy.ollama(version).replace(capture_before_end=1)

    def figures(cut: int) -> list[tuple[object, ...]]:
        prompt = (22, 20, 1, 7, 9)
        requests = (Request(tokens=prompt[:3], cancel_after=cut - 2), Request(tokens=prompt, cancel_after=cut), Request(tokens=(*prompt, 4), generated=(2,)))
        made = open_twin(kinds).run(Workload("cancelled", requests), policy, progress=False)
        return made.requests.select(one for one in COLUMNS if one in made.requests.columns).rows()

    assert figures(5) == figures(4)
