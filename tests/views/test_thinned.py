"""A dataset with fewer moments: what stands at each that stayed is what stood there before."""

from __future__ import annotations

from typing import Any

import pytest

import kvlab
from kvlab.views import thinned as code
from kvlab.views.dashboard.dataset import dataset_of
from kvlab.views.dashboard.tables import MARKS

MOVED = MARKS.index("frontier_moved")


@pytest.fixture(scope="module")
def whole() -> dict[str, Any]:
    """Fifty requests, each shared by halves with the one before, under a budget of about ten of them."""
    twin = kvlab.twin(["recurrent", "kv"])
    requests = [kvlab.Request(tokens=(7, 7, 7, number // 2, number // 2, *[number] * 5), max_new=4, label=f"r{number}") for number in range(50)]
    recording = twin.run(kvlab.workloads.Workload("pairs", tuple(requests)), policy=twin.policy.replace(budget_bytes=4096, capture_grid=2), progress=False)
    return dataset_of(recording).whole()


def alive(columns: dict[str, list[Any]], seq: int) -> list[tuple[Any, ...]]:
    rows = zip(*(columns[name] for name in columns if name != "died"), columns["died"], strict=True)
    born = list(columns).index("born")
    return sorted(row for row in rows if row[born] <= seq and (row[-1] == -1 or row[-1] > seq))


def last(columns: dict[str, list[Any]], seq: int, **where: int) -> tuple[Any, ...] | None:
    rows = [
        row for row in zip(*columns.values(), strict=True) if row[0] <= seq and all(row[list(columns).index(name)] == value for name, value in where.items())
    ]
    return rows[-1] if rows else None


def phases(readings: dict[str, list[Any]], seq: int, request: int) -> dict[int, int]:
    """When each phase of a request was last read, up to a moment."""
    rows = zip(readings["seq"], readings["request"], readings["phase"], strict=True)
    return {phase: at for at, of, phase in rows if at <= seq and of == request}


def marks(columns: dict[str, list[Any]], seq: int, request: int, what: str) -> list[int]:
    rows = zip(columns["seq"], columns["request"], columns["what"], columns["end"], strict=True)
    return [end for at, of, code_of, end in rows if at <= seq and of == request and code_of == MARKS.index(what)]


def test_what_stands_at_a_moment_stays(whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "WHOLE", 160)
    monkeypatch.setattr(code, "ENDS", 12)
    made = code.thinned(whole)
    before, after = whole["add"], made.data["add"]
    assert len(after["nodes"]["node"]) < len(before["nodes"]["node"])
    assert 12 <= len(after["events"]["seq"]) < 160 + 3 * 12 < len(before["events"]["seq"])
    for seq in after["events"]["seq"]:
        for name in ("nodes", "spans"):
            assert alive(after[name], seq) == alive(before[name], seq)
        assert last(after["readings"], seq) == last(before["readings"], seq)
        assert last(after["marks"], seq, what=MOVED) == last(before["marks"], seq, what=MOVED)
        for node, *_ in alive(after["nodes"], seq):
            assert last(after["ranks"], seq, node=node) == last(before["ranks"], seq, node=node)
    for seq, request in zip(after["events"]["seq"], after["events"]["request"], strict=True):
        assert phases(after["readings"], seq, request) == phases(before["readings"], seq, request)
        for what in ("scheduled", "captured"):
            assert marks(after["marks"], seq, request, what) == marks(before["marks"], seq, request, what)
    told = {row["request"] for row in made.data["requests"]}
    assert told >= set(after["events"]["request"]) - {0}
    assert "of" in made.words
    assert "from request" in made.words


def test_the_last_moments_stay_whole(whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "WHOLE", 60)
    monkeypatch.setattr(code, "ENDS", 12)
    kept = code.thinned(whole).data["add"]["events"]["seq"]
    assert kept[-20:] == whole["add"]["events"]["seq"][-20:]


def test_of_one_long_request_the_last_moments_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "WHOLE", 60)
    monkeypatch.setattr(code, "ENDS", 12)
    twin = kvlab.twin(["recurrent", "kv"])
    before = dataset_of(twin.run(kvlab.workloads.Workload("one", (kvlab.Request(tokens=(1, 2, 3), max_new=200),)), progress=False)).whole()
    made = code.thinned(before)
    kept = made.data["add"]["events"]["seq"]
    assert kept[-60:] == before["add"]["events"]["seq"][-60:]
    assert len(kept) < len(before["add"]["events"]["seq"])
    assert "at the last 60 of request 1" in made.words


def test_a_short_run_is_left_as_it_is(whole: dict[str, Any]) -> None:
    made = code.thinned(whole)
    assert made.data is whole
    assert made.words == ""
