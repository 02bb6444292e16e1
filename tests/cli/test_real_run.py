from __future__ import annotations

from collections.abc import Callable
from typing import Any

Kvlab = Callable[..., Any]


def test_a_real_run_answers_the_same_cold_and_after_a_hit(kvlab_says: Kvlab) -> None:
    said = kvlab_says("run", "repeat:2", "--store-text", "--json")
    assert said.code == 0
    cold, hit = said.json["requests"]
    assert "Paris" in cold["text"]
    assert hit["text"] == cold["text"]
    assert (cold["cached"], hit["matched"], hit["left"]) == (0, cold["left"], 1)
    for row in (cold, hit):
        assert abs(row["unattributed_bytes"]) <= 1024
        assert row["ttft_s"] > 0
    verdicts = {finding["question"]: finding["verdict"] for finding in said.json["findings"]}
    assert verdicts["why_not_reused"] == "reused_in_full"
    assert verdicts["do_the_parts_add_up"] == "adds_up"
    assert verdicts["is_the_answer_right"] == "not_enough_data"
