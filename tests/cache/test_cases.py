"""The cases of tests/cases that full attention decides, and random sequences under every check."""

from __future__ import annotations

import random
from pathlib import Path

import polars as pl
import pytest

from kvlab.errors import BadValue
from kvlab.lab import Twin, open_twin
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.units import GIB
from kvlab.workloads import Request, Workload, case

CASES = Path(__file__).parents[1] / "cases"
PAGED_TOLERANCE = 0.01 * GIB


def run(name: str, **choices: str) -> tuple[Recording, Workload]:
    work = case(CASES / f"{name}.json")
    assert work.shape is not None
    return Twin(work.shape).run(work, Policy.from_dict(work.policy).replace(**choices), check=True, progress=False), work


def violations(recording: Recording) -> pl.DataFrame:
    return recording.events.filter(pl.col("kind") == "violation")


@pytest.mark.parametrize("name", ["exact_repeat_leaves_one_token", "grid_restore_plain_kv"])
def test_checkpoints(name: str) -> None:
    recording, work = run(name)
    rows = {row["request"]: row for row in recording.requests.iter_rows(named=True)}
    for want in work.expected["checkpoints"]:
        row = rows[want["request"]]
        assert {key: row[key] for key in ("matched", "cached", "left", "nodes")} == {key: want[key] for key in ("matched", "cached", "left", "nodes")}
        assert row["counted"] == pytest.approx(want["paged_gib"] * GIB, abs=PAGED_TOLERANCE)
    assert rows[2]["reason"] == work.expected["verdict"]
    assert violations(recording).is_empty()


def test_unrelated_prompts_stay_below_the_budget() -> None:
    recording, work = run("tokens/unrelated_prompts")
    assert recording.requests["counted"].to_list() == work.expected["paged_out_bytes"]
    logical = recording.bytes.filter((pl.col("owner") == "live") & (pl.col("kind") == "logical") & (pl.col("phase") == "decode"))
    assert set(logical["value"].to_list()) == {work.expected["live_capacity_tokens_used"]}
    assert violations(recording).is_empty()


def test_lazy_overwrite_in_both_arms() -> None:
    recording, work = run("tokens/lazy_overwrite")
    want = work.expected["checkpoints"][0]
    row = recording.requests.row(want["request"] - 1, named=True)
    assert (row["matched"], row["cached"]) == (want["matched"], want["cached"])
    wrong = recording.events.filter(pl.col("kind") == "wrong_positions").select("request", "start", "end", "belongs_to").rows()
    assert wrong == [(want["request"], *want["wrong_positions"], want["belongs_to_request"])]
    assert set(violations(recording)["rule"]) == {"lazy_intact", "restored_right"}
    control, _ = run("tokens/lazy_overwrite", **work.expected["control"])
    assert violations(control).height == work.expected["control_violations"]


@pytest.mark.parametrize(
    "choices", [{}, {"protect": "active_path"}, {"mid_edge": "drop", "budget_bytes": 10**9}, {"snapshots": "eager"}, {"budget_counts": "resident"}]
)
def test_random_sequences_break_no_rule(choices: dict[str, str]) -> None:
    for seed in range(12):
        rng = random.Random(seed)
        policy = Policy(budget_bytes=rng.choice([3, 30, 100, 10**6]), capture_grid=rng.choice([8, 64]), prefill_chunk=rng.choice([3, 8])).replace(**choices)
        stems = [tuple(rng.randrange(1, 9) for _ in range(rng.randrange(4, 50))) for _ in range(4)]
        requests: list[Request] = []
        for _ in range(25):
            stem = rng.choice(stems)
            tokens = stem[: rng.randrange(1, len(stem) + 1)] + tuple(rng.randrange(1, 9) for _ in range(rng.randrange(10)))
            cancel = rng.randrange(1, len(tokens) + 1) if rng.random() < 0.2 else None
            reply = tuple(rng.randrange(1, 9) for _ in range(rng.randrange(5)))
            requests.append(Request(tokens=tokens, generated=reply, cancel_after=cancel))
        recording = open_twin(["kv", "kv"]).run(Workload("random", tuple(requests)), policy, check=True, progress=False)
        assert violations(recording).is_empty(), (seed, violations(recording).select("request", "rule", "message").rows())
        assert recording.requests.height == len(requests)


def test_a_choice_the_engine_does_not_follow_is_refused() -> None:
    with pytest.raises(BadValue, match="store=whole_entry_lru"):
        open_twin(["kv"]).run("unrelated:1", Policy(store="whole_entry_lru", growth="in_place"), progress=False)
