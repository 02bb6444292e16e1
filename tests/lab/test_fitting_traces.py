"""A trace on a model of this machine: its first requests, as many as run in a minute or two, and what all of them would take."""

from __future__ import annotations

from pathlib import Path

import pytest

from kvlab.cli.scale import fit_words, time_words
from kvlab.errors import BadValue
from kvlab.lab import open_twin
from kvlab.lab.fitting import MOST_EVALUATED, NEW_TOKEN, fitted
from kvlab.policy import Policy


def table(folder: Path, *rows: tuple[int, int]) -> str:
    path = folder / "t.csv"
    lines = [f"2023-11-16 18:{place // 60:02}:{place % 60:02},{prompt},{reply}\n" for place, (prompt, reply) in enumerate(rows)]
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(lines))
    return str(path)


def test_as_many_first_requests_as_are_evaluated_in_time(tmp_path: Path) -> None:
    fit = fitted(open_twin("smollm2"), table(tmp_path, *[(500, 10)] * 400))
    # 660 tokens a request: 13 fit, and 400, 200, 100, 50, 25, 13 are halves
    assert (len(fit.workload), fit.of) == (13, 400)
    assert fit.cost == 13 * (500 + NEW_TOKEN * 10) <= MOST_EVALUATED
    assert fit.share is not None
    assert time_words(fit) == ""
    assert "the first 13 of its 400 requests" in fit_words(fit, Policy())


def test_a_small_trace_is_whole(tmp_path: Path) -> None:
    fit = fitted(open_twin("smollm2"), table(tmp_path, (50, 2), (60, 3)))
    assert [len(request.tokens) for request in fit.workload.requests] == [50, 60]
    assert "all of its 2 requests" in fit_words(fit, Policy())


def test_a_prompt_beyond_the_context_ends_what_is_taken(tmp_path: Path) -> None:
    fit = fitted(open_twin("smollm2"), table(tmp_path, *[(100, 2)] * 4, (100_000, 2), *[(100, 2)] * 3))
    assert len(fit.workload) == 4


def test_a_scale_takes_that_share_and_says_how_long_it_takes(tmp_path: Path) -> None:
    path = table(tmp_path, *[(5000, 100)] * 400)
    half = fitted(open_twin("smollm2"), path, 1 / 2)
    assert (len(half.workload), half.of) == (200, 400)
    assert half.cost == 200 * (5000 + NEW_TOKEN * 100)
    words = time_words(half)
    # 1,320,000 tokens at 9,000 in two minutes
    assert "200 requests take about 5 hours" in words
    assert len(fitted(open_twin("smollm2"), path, 1).workload) == 400


def test_a_trace_has_no_more_than_all_requests(tmp_path: Path) -> None:
    with pytest.raises(BadValue, match=r"t\.csv cannot be scaled by 2"):
        fitted(open_twin("smollm2"), table(tmp_path, (50, 2)), 2)
