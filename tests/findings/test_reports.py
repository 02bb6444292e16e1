"""Public reports and what people paste: the verdicts that a person who reads them comes to, with the figures that decide."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

import kvlab
from kvlab.findings import Findings
from kvlab.importers import import_file, import_files

REPORTS = Path(__file__).parents[1] / "fixtures" / "reports"

GROWTH, REUSE, UNLOAD, FIT, BUDGET, SLOW, ANSWER, HOLDS = (
    *("budget_or_leak", "why_not_reused", "what_will_unload_give_back", "will_it_fit", "which_budget", "why_slow", "is_the_answer_right", "who_holds_it"),
)
OPEN = "not_enough_data"

EXPECTED: dict[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "composite_llama_server_in_ollama.log": (
        (REUSE, "reuse_limited_by_restore_point", ("matched 14118", "15099 tokens")),
        (GROWTH, "budget_filling", ("7.20 GiB of its limit of 8.00 GiB",)),
        (SLOW, "re_prefill", ()),
    ),
    "composite_mlxlm_cache_grows.log": (
        (GROWTH, "over_budget_by_design", ("to 24.59 GiB", "2.05 GiB each", "no limit")),
        (HOLDS, OPEN, ("prompt cache 24.59 GiB",)),
    ),
    "devto_m1max_activity.txt": (
        (GROWTH, OPEN, ("44.00 GiB",)),
        (BUDGET, OPEN, ("Nothing in the recording shows a prefix cache",)),
        (FIT, OPEN, ("3.26 GiB are available",)),
    ),
    "ik_2320_cachestate.log": ((GROWTH, "over_budget_by_design", ("18.36 GiB", "limit of 8.00 GiB", "one entry is always kept")),),
    "k8s_4341_anon.md": ((GROWTH, "budget", ("since request 100",)),),
    # 3.23 MB, as the reporter fitted it
    "llamacpp_25953_rounds.csv": ((GROWTH, "leak", ("3.08 MiB per generated token",)),),
    "llamacpp_25953_rounds.txt": ((GROWTH, OPEN, ("11.6 GB",)),),
    "mlxlm_480_cachewrapper.log": ((REUSE, "reuse_limited_by_restore_point", ("71 tokens was refused", "rotating")),),
    "mlxmanager_mlxlm.log": ((GROWTH, OPEN, ("1.63 GiB",)), (SLOW, OPEN, ("44.0 s",))),
    "mlxmanager_mlxlm_ms.log": ((GROWTH, OPEN, ("1.63 GiB",)), (SLOW, OPEN, ("43.8 s",))),
    "mlxopenai_137.log": ((REUSE, "nothing_shared", ("Nothing was restored in 2 requests", "0 of 18318")),),
    "mlxswift_196_prefix.log": ((REUSE, "nothing_shared", ("4 misses and no hit", "240.47 MiB")),),
    "mtplx_229_health.json": ((BUDGET, "thrash", ("3.92 GiB, more than the whole budget of 3.00 GiB",)),),
    "ollama_10076_dockerstats.txt": ((UNLOAD, "all_but_process_base", ("20.10 GiB to 21.40 MiB",)),),
    "ollama_10288_top.txt": ((SLOW, "swap", ("9.50 GiB",)),),
    "ollama_10433_ps.txt": ((UNLOAD, "process_left_behind", ("2275563",)),),
    "ollama_12912_metal.log": ((UNLOAD, "all_but_process_base", ("3.92 GiB", "45 %")), (SLOW, OPEN, ("9.3 s",))),
    "ollama_16031_ps.txt": ((UNLOAD, "all_but_process_base", ("79.16 GiB", "262,144 tokens")),),
    "ollama_4443_nvidia.txt": ((UNLOAD, "all_but_process_base", ("9.31 GiB",)),),
    "ollama_7606_loop.txt": ((UNLOAD, "still_loaded", ("994 s later", "waits for the reply", "5.96 GiB")),),
    "omlx_1833_settle.md": ((UNLOAD, "not_settled", ("24.89 GiB", "before 0.5 s")),),
    "omlx_2184_vmstat.txt": ((FIT, "does_not_fit", ("414.00 GiB", "reboot")),),
    "omlx_2430_pressure.log": ((HOLDS, OPEN, ("Not the hot cache",)), (FIT, "does_not_fit", ("66.68 GiB", "63.70 GiB"))),
    "omlx_702_jetsam.ips": ((FIT, "does_not_fit", ("vm-compressor-space-shortage", "14.69 MiB", "112.39 GiB")),),
    "rapidmlx_2058.log": ((REUSE, "reuse_limited_by_restore_point", ("matched 19322", "19485 tokens", "22 tokens longer")),),
    "signet_1006_footprint.txt": ((GROWTH, "no_growth", ("265.00 MiB to 2.00 GiB",)),),
    "pasted/c_rows.csv": ((ANSWER, "wrong_state_restored", ("42 of 192", "under 0.32.3", "none under 0.32.7")),),
    "pasted/d4a.txt": ((GROWTH, "budget", ("since request 21",)),),
    "pasted/e2_session.txt": ((UNLOAD, "process_left_behind", ("9120",)),),
    "pasted/h_4.csv": ((GROWTH, "heap_growth", ("5.11 GiB",)), (HOLDS, "leak", ())),
    "pasted/heapzh.csv": ((GROWTH, "heap_growth", ("5.11 GiB",)),),
    "pasted/s0b.csv": ((GROWTH, OPEN, ("contradicts no budget", "further figure decides")),),
    "pasted/s1_peak.txt": ((FIT, OPEN, ("60.58 GiB at 131,072 prompt tokens",)),),
    "pasted/s1_perf.txt": ((SLOW, "swap", ("58.7 to 13.35 tokens/s",)),),
    "pasted/s1_perf2.txt": ((SLOW, "swap", ("58.7 to 13.35 tokens/s",)),),
    "pasted/s1_two_tables_and_peaks_hash.txt": ((SLOW, "swap", ("58.7 to 13.35",)), (FIT, OPEN, ("60.58 GiB",))),
    "pasted/stop.txt": ((UNLOAD, "process_left_behind", ("9120",)),),
    "pasted/unload_answer.json": ((UNLOAD, "not_settled", ("Accepted means",)),),
    "pasted/warn3.log": ((REUSE, "refused_by_layer", ("46974", "which left 0")),),
}
"""By file: the question, its verdict, and what its sentence names."""


@lru_cache(maxsize=1)
def findings(name: str) -> Findings:
    return kvlab.diagnose(import_file(REPORTS / name).recording)


@pytest.mark.parametrize("name", EXPECTED)
def test_the_verdict_is_a_readers(name: str) -> None:
    for question, verdict, words in EXPECTED[name]:
        found = findings(name).about(question)
        assert found.verdict == verdict, found
        for one in words:
            assert one in found.summary


def test_few_rows_are_less_sure_and_not_of_another_verdict() -> None:
    assert findings("pasted/h_4.csv").about(GROWTH).confidence == "low"


def test_two_listings_of_regions_show_the_heap() -> None:
    both = kvlab.diagnose(import_files([REPORTS / "pasted" / f"vmmap{number}.txt" for number in (1, 2)]).recording)
    assert both.about(GROWTH).verdict == "heap_growth"
    assert "MALLOC_LARGE" in both.about(GROWTH).summary


def test_a_kernel_panic_is_one_sentence_and_no_verdict() -> None:
    found = findings("omlx_862_panic.txt")
    assert [words for words in found.warnings if "IOGPUMemory.cpp:550" in words]
    assert {finding.verdict for finding in found} == {OPEN}


@pytest.mark.parametrize(("size", "left"), [("18", "8.00 GiB"), ("28", "0 B")])
def test_a_size_is_not_taken_for_weights_where_the_shape_has_them(size: str, left: str) -> None:
    """The 10 GB above the first size are snapshots and live buffers: with 28 GB the budget is filled already."""
    recording = import_files([REPORTS / f"composite_ps{size}.txt", REPORTS / "composite_pane32.txt"]).recording
    found = kvlab.diagnose(recording, shape="qwen3.8-27b")
    weights = kvlab.twin("qwen3.8-27b").shape.weights_bytes
    assert found.about(BUDGET).numbers["weights_bytes"] == weights
    assert left in found.about(FIT).summary
    assert found.about(BUDGET).verdict == "budget_larger_than_machine"
