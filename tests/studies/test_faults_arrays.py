"""The catalogue's demonstrations on real arrays: each figure against what its rule predicts, in both arms."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from kvlab.studies import faults
from kvlab.studies.faults import on_answers, on_mlx_lm
from kvlab.studies.faults.arms import CURED, FAULT, Shown


@cache
def shown(fault: str) -> Shown:
    return faults.ARRAYS[fault].run()


def arms(fault: str) -> tuple[dict[str, Any], dict[str, Any]]:
    return shown(fault).figures(FAULT), shown(fault).figures(CURED)


def both(one: Shown) -> tuple[dict[str, Any], dict[str, Any]]:
    return one.figures(FAULT), one.figures(CURED)


def test_a_conv_view_keeps_its_chunk_and_tail() -> None:
    bad, good = arms("F-01")
    assert bad["kept_alive_over_counted"] == pytest.approx(shown("F-01").more["chunk_and_tail_over_tail"], rel=0.1)
    assert shown("F-01").more["chunk_and_tail_over_tail"] == (128 + 2) / 2
    assert good["kept_alive_bytes"] == good["counted_bytes"] == bad["counted_bytes"]


def test_the_active_path_grows_by_one_whole_state_exactly() -> None:
    bad, good = arms("F-06")
    steps = {after - before for before, after in zip(bad["counted_bytes"], bad["counted_bytes"][1:], strict=False)}
    assert steps == {shown("F-06").more["whole_state_bytes"]}
    assert max(good["counted_bytes"]) == 6 * shown("F-06").more["whole_state_bytes"]


def test_the_peaks_are_apart_by_the_consumed_merge_inputs() -> None:
    more = shown("F-07").more
    assert abs(more["peaks_apart_bytes"] - more["consumed_before_the_last_merge_bytes"]) <= more["one_growth_step_bytes"]
    assert more["consumed_before_the_last_merge_bytes"] > 10 * more["one_growth_step_bytes"]
    assert arms("F-07")[1]["merge_inputs_waiting_bytes"] == 0


def test_the_budget_counts_snapshots_only() -> None:
    bad, good = arms("F-03")
    assert bad["snapshots_and_live_bytes"] > bad["budget_bytes"] >= good["snapshots_and_live_bytes"]


def test_freeing_all_layers_moves_bytes_to_the_snapshots() -> None:
    bad, good = arms("F-09")
    assert (bad["times_all_layers_were_freed"], good["times_all_layers_were_freed"]) == (1, 0)
    assert bad["live_after_bytes"] == 0
    # 399 of the third prompt's 400 tokens were lazy in the live buffer
    (group,) = [group for group in faults.ARRAYS["F-09"].open().shape.groups if group.kind == "kv"]
    assert bad["snapshots_after_bytes"] - bad["snapshots_before_bytes"] == 399 * group.bytes_per_token


def test_a_rewound_buffer_keeps_its_room() -> None:
    bad, good = arms("F-10")
    assert bad["live_capacity_bytes"] == 2048 // 256 * good["live_capacity_bytes"]


@pytest.mark.parametrize(
    ("fault", "bad", "good"),
    [
        ("F-12", (4, 0), (4, 4)),
        ("F-13", (5, 3), (5, 5)),
        ("F-16", (3, 0), (3, 3)),
        # captures at 80 and 160 before the cut at 180
        ("F-18", (175, 0), (175, 160)),
        # the last multiple of 1,024 and of 128 below 1,700
        ("F-28", (1700, 1024), (1700, 1664)),
    ],
)
def test_reuse(fault: str, bad: tuple[int, int], good: tuple[int, int]) -> None:
    assert tuple((arm["matched_tokens"], arm["cached_tokens"]) for arm in arms(fault)) == (bad, good)


def test_the_pool_is_given_back_after_the_load() -> None:
    bad, good = both(on_answers.pool_after_load())
    # the consumed weights were twice as wide; some of their buffers are taken again while the rest is made
    assert bad["weights_bytes"] < bad["pool_after_load_bytes"] <= 2.1 * bad["weights_bytes"]
    assert good["pool_after_load_bytes"] == bad["pool_after_the_first_request_bytes"] == 0


def test_an_overwritten_snapshot_differs_from_a_cold_run_where_the_twin_says() -> None:
    bad, good = both(on_answers.overwritten())
    twin = faults.TWIN["F-14"].run()
    assert (bad["verdict"], good["verdict"]) == ("wrong_state_restored", "identical")
    assert bad["wrong_positions"] == twin.figures(FAULT)["wrong_positions"]
    assert good["wrong_positions"] == []


def test_other_chunks_change_last_bits_only() -> None:
    bad, good = both(on_answers.other_chunks())
    assert (bad["verdict"], good["verdict"]) == ("numeric", "identical")
    assert bad["wrong_positions"] == []
    assert good["largest_difference_share"] == 0


def test_a_slice_keeps_its_source_and_a_copy_does_not() -> None:
    one = on_mlx_lm.slices()
    bad, good = both(one)
    assert bad["kept_alive_bytes"] == bad["slice_bytes"] * on_mlx_lm.CAPACITY // (on_mlx_lm.END - on_mlx_lm.START)
    assert good["kept_alive_bytes"] == good["slice_bytes"]
    assert one.more["kept_alive_by_copy.deepcopy(slice)_bytes"] == bad["kept_alive_bytes"]


def test_the_graph_of_metadata_grows_by_five_edges_a_step() -> None:
    # published: 1,280 edges after 256 steps, while bytes stay flat
    bad, good = both(on_mlx_lm.metadata())
    assert (bad["graph_edges"], good["graph_edges"]) == (1280, 0)
    assert bad["bytes_in_use_more_bytes"] < 64 * on_mlx_lm.STEPS


def test_the_first_append_to_a_deep_copy_copies_the_whole_buffer() -> None:
    one = on_mlx_lm.deep_copies()
    bad, good = both(one)
    assert bad["hit_bytes"] == good["first_append_bytes"] == 0
    assert bad["first_append_bytes"] == one.more["entry_buffers_bytes"]


def test_the_entry_just_used_is_evicted_by_insertion_order() -> None:
    bad, good = both(on_mlx_lm.insertion_order())
    assert (bad["entry_just_used_was_evicted"], good["entry_just_used_was_evicted"]) == (True, False)


def test_the_search_is_quadratic() -> None:
    bad, good = both(on_mlx_lm.quadratic_search())
    # one token more at every step: 1 + 2 + ... + n
    assert [bad[f"tokens_copied_for_a_tail_of_{tail}"] for tail in on_mlx_lm.TAILS] == [tail * (tail + 1) // 2 for tail in on_mlx_lm.TAILS]
    assert len(set(good.values())) == 1


def test_a_one_token_prefix_is_not_found() -> None:
    bad, good = both(on_mlx_lm.one_token_prefix())
    assert (bad["left_tokens"], good["left_tokens"]) == (3, 2)
    assert bad["left_after_a_two_token_prefix_tokens"] == good["left_after_a_two_token_prefix_tokens"] == 1


def test_an_exact_hit_leaves_nothing_to_sample_from() -> None:
    bad, good = both(on_mlx_lm.exact_hit())
    assert (bad["left_tokens"], good["left_tokens"]) == (0, 1)
