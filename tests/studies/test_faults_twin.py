"""Each switchable entry of the catalogue on the twin: both arms show what the public study of the upstream runner says, or what its rule gives.

The figures here are derived, not read off: from the case files, from the study's minimal triggers, or from the arithmetic in the comment.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from kvlab.policy import Policy
from kvlab.studies import faults
from kvlab.studies.faults.arms import CURED, FAULT
from kvlab.workloads import Workload

CASES = Path(__file__).parents[1] / "cases" / "tokens"
SWITCHES = [fault for fault in faults.CATALOGUE.values() if fault.status == "switch"]
NO_SPANS = {"F-08"}
"""The pool is the allocator's: spans have none."""

REUSE: dict[str, tuple[tuple[int, int], tuple[int, int]]] = {
    # (matched, cached) in the fault arm and in the cured one, as the study's minimal triggers say
    "F-12": ((4, 0), (4, 4)),
    "F-13": ((5, 3), (5, 5)),
    "F-16": ((3, 0), (3, 3)),
    # [0, 1) is the only node whose snapshots were not lost when the bare tail was merged; the cured arm has all of [0, 3)
    "F-17": ((3, 1), (3, 3)),
    # a state at 18 only is of no use to a probe that matches 17; with its captures the prefill left one at 16 - 1
    "F-18": ((17, 0), (17, 15)),
    # targets and draft layers one apart: the retry falls back to the capture at 15
    "F-20": ((17, 15), (18, 18)),
    # 8192 n - 1 with a draft's look-ahead of 1: 2 x 8192 - 1 and 21 x 1024 - 1
    "F-28": ((21742, 16383), (21742, 21503)),
}


def case(name: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads((CASES / f"{name}.json").read_text())
    return data["expected"]


def arms(fault: str) -> tuple[dict[str, Any], dict[str, Any]]:
    shown = faults.TWIN[fault].run()
    return shown.figures(FAULT), shown.figures(CURED)


@pytest.mark.parametrize("fault", SWITCHES, ids=lambda fault: fault.id)
def test_a_switch_has_both_arms_and_they_differ_in_its_choice_only(fault: faults.Fault) -> None:
    assert faults.can_be_shown(fault.id)
    assert (fault.id in faults.TWIN) != (fault.id in NO_SPANS)
    main = getattr(Policy(), fault.field)
    assert main == (fault.fault if fault.by_design else fault.cure)
    for table in (faults.TWIN, faults.ARRAYS):
        if fault.id in table:
            trigger = table[fault.id]
            bad, good = trigger.policies(trigger.open().shape)
            assert set(bad.diff(good)) == {fault.field}
            if trigger.values is None:
                assert (getattr(bad, fault.field), getattr(good, fault.field)) == (fault.fault, fault.cure)


@pytest.mark.parametrize("fault", REUSE)
def test_reuse_in_both_arms(fault: str) -> None:
    bad, good = arms(fault)
    assert tuple((arm["matched_tokens"], arm["cached_tokens"]) for arm in (bad, good)) == REUSE[fault]


def test_a_hole_that_is_merged_across_gives_wrong_contents() -> None:
    """The figures are those of upstream's own code: request 6 restores two tokens, of which position 1 is wrong."""
    bad, good = arms("F-40")
    assert (bad["cached_tokens"], bad["warnings"]) == (2, [])
    assert [one["positions"] for one in bad["wrong_positions"] if one["request"] == 6] == [[1, 2]]
    assert good["wrong_positions"] == []


def test_slices_of_a_rounds_states_pin_the_round() -> None:
    """T = 4 tokens a round: T - 1 states in one allocation, of which a snapshot counts one. Each prompt leaves a capture, which pins nothing, and a slice."""
    state, tokens_a_round, prompts = 10, 4, 3
    bad, good = arms("F-39")
    assert bad["counted_bytes"] == good["counted_bytes"] == 2 * prompts * state
    assert bad["kept_alive_bytes"] - bad["counted_bytes"] == prompts * (tokens_a_round - 2) * state
    assert good["kept_alive_bytes"] == good["counted_bytes"]


def test_a_slice_and_the_live_state_are_charged_once() -> None:
    """Right after the close both are the same T - 1 states; the next request's forward leaves the live state its own."""
    trigger = faults.TWIN["F-39"]
    source = trigger.open()
    policy, cured = trigger.policies(source.shape)
    recording = source.run(Workload("once", trigger.requests[:1]), policy, progress=False, check=True)
    row = recording.requests.row(0, named=True)
    compact = source.run(Workload("once", trigger.requests[:1]), cured, progress=False).requests.row(0, named=True)
    # the live state is a slice of three states of 10 bytes; its snapshot is the same allocation, and one state counts
    assert row["live"] - compact["live"] == 2 * 10
    assert (row["counted"], row["retained"] - row["live"]) == (2 * 10, 10)
    assert recording.events.filter(pl.col("kind") == "violation").is_empty()


def test_a_freed_state_keeps_no_round_alive() -> None:
    trigger = faults.TWIN["F-39"]
    source = trigger.open()
    policy, _ = trigger.policies(source.shape)
    source.run(Workload("once", trigger.requests[:1]), policy, progress=False)
    source.cache.free_live()
    assert source.cache.live_bytes == 0


@pytest.mark.parametrize(
    ("fault", "rules"),
    [("F-12", {"kv_covers_edge", "cached_is_matched"}), ("F-16", {"kv_covers_edge"}), ("F-20", {"level", "kv_covers_edge"})],
)
def test_the_fault_arm_breaks_its_rules_and_the_cured_arm_none(fault: str, rules: set[str]) -> None:
    bad, good = arms(fault)
    assert set(bad["rules_broken"]) == rules
    assert good["rules_broken"] == []


def test_grown_in_place_warns() -> None:
    bad, good = arms("F-16")
    assert ["failed to restore cache, freeing all caches" in warning for warning in bad["warnings"]] == [True]
    assert good["warnings"] == []


@pytest.mark.parametrize(("fault", "layer", "at", "owner", "request_"), [("F-14", "kv", 2, 2, 3), ("F-21", "draft_kv", 4, 1, 2)])
def test_wrong_positions_and_their_owner(fault: str, layer: str, at: int, owner: int, request_: int) -> None:
    bad, good = arms(fault)
    assert bad["wrong_positions"] == [{"request": request_, "layer": layer, "positions": [at, at + 1], "belongs_to_request": owner}]
    assert good["wrong_positions"] == []


def test_a_capture_is_clipped_to_its_node() -> None:
    bad, good = arms("F-15")
    assert bad["snapshots_off_their_edge"] == [{"node": [2, 3], "snapshot": [1, 3]}]
    assert good["snapshots_off_their_edge"] == []


def test_a_reply_is_paged_out_at_its_close() -> None:
    bad, good = arms("F-17")
    assert (bad["nodes_paged_out_in_request_1"], good["nodes_paged_out_in_request_1"]) == (0, 1)


def test_no_capture_falls_inside_a_media_item() -> None:
    # seven tokens less three is position 4, inside the item [2, 6); whole items move it to their end
    bad, good = arms("F-22")
    assert (bad["captures_at"], good["captures_at"]) == ([4], [6])


def test_a_view_pins_the_rows_of_its_chunk() -> None:
    # a state of 10 bytes, and 8 rows of 2 bytes of the forward's input
    bad, good = arms("F-01")
    assert bad["kept_alive_over_counted"] == (10 + 8 * 2) / 10
    assert good["kept_alive_over_counted"] == 1


def test_the_budget_counts_snapshots_only() -> None:
    expected = case("unrelated_prompts")
    bad, good = arms("F-03")
    assert bad["counted_bytes"] == expected["paged_out_bytes"]
    assert bad["snapshots_and_live_bytes"] == expected["paged_out_bytes"][-1] + expected["live_capacity_tokens_used"] > bad["budget_bytes"]
    assert good["snapshots_and_live_bytes"] <= good["budget_bytes"]


def test_eviction_during_a_prefill_keeps_the_budget() -> None:
    # the second prompt copies out all 79 tokens that the first one recorded (its last is never evaluated) before it is attached
    bad, good = arms("F-04")
    assert bad["highest_counted_bytes"] == 79
    assert good["highest_counted_bytes"] <= 40


def test_a_full_miss_leaves_two_nodes_or_none() -> None:
    # one to the capture before the prompt's end, one for the rest and the reply
    bad, good = arms("F-05")
    assert bad["nodes"] == [1 + 2 * request for request in range(1, 7)]
    assert good["nodes"] == [1] * 6


def test_the_active_path_grows_by_one_state_a_turn() -> None:
    expected = case("active_path_grows")
    shown = faults.TWIN["F-06"].run()
    bad, good = shown.figures(FAULT), shown.figures(CURED)
    assert (bad["counted_bytes"], bad["nodes"]) == (expected["paged_out_bytes"], expected["nodes"])
    assert max(good["counted_bytes"]) <= expected["control_paged_out_bytes_max"]
    assert shown.more["growth_of_the_last_turn_bytes"] == shown.more["whole_state_bytes"] == 10


def test_merge_inputs_wait_for_the_sweep() -> None:
    # k edges of c bytes, merged one after another: the sum of i c for i from 2 to k
    bad, good = arms("F-07")
    assert bad["merge_inputs_waiting_bytes"] == sum(edges * 8 for edges in range(2, 9))
    assert good["merge_inputs_waiting_bytes"] == 0


def test_freeing_all_layers_moves_the_lazy_bytes() -> None:
    # the third prompt left 59 of its 60 tokens lazy in the live buffer
    bad, good = arms("F-09")
    assert (bad["times_all_layers_were_freed"], good["times_all_layers_were_freed"]) == (1, 0)
    assert bad["live_after_bytes"] == 0
    assert bad["snapshots_after_bytes"] - bad["snapshots_before_bytes"] == 59


def test_a_rewound_buffer_keeps_its_room() -> None:
    # 39 evaluated tokens in steps of four; then 3
    bad, good = arms("F-10")
    assert (bad["live_capacity_bytes"], good["live_capacity_bytes"]) == (40, 4)
    assert bad["live_filled_bytes"] == good["live_filled_bytes"] == 3


def test_in_a_notebook_an_entry_is_a_card_with_both_recordings_side_by_side() -> None:
    shown = faults.TWIN["F-06"].run()
    bundle = shown._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "image/png"}
    assert "F-06" in bundle["text/plain"]
    assert bundle["image/png"].startswith(b"\x89PNG")
    assert shown.recording(FAULT) is not shown.recording(CURED)
