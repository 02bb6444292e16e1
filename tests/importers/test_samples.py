"""Every other sample: tables, and what tools print."""

from __future__ import annotations

import pytest

from kvlab.importers import import_file
from kvlab.importers.formats import GAUGES
from tests.importers.read import FIXTURES, GB, gib, mib, observed, read, requests, rows


def test_ollama_ps_of_17783() -> None:
    rec = read("logs/real_17783_ollama_ps.txt").recording
    assert rec.manifest.model == "gemma4:31b-mlx"
    # SIZE is decimal and cut to whole GB; the same model twice is two readings
    assert observed(rec, "size", "value", "unit", "step") == [(18 * GB, "GB", GB), (19 * GB, "GB", GB)]
    listed = (1, "gemma4:31b-mlx", "637cc0ff1570", 131072, "Forever")
    assert rows(rec, "listed", "count", "model", "digest", "context", "label") == [listed, listed]


def test_ollama_ps() -> None:
    rec = read("samples/ollama_ps.txt").recording
    assert rows(rec, "listed", "t", "count", "model", "context", "label") == [
        (0.0, 1, "lab-27b-mlx", 65536, "9 minutes from now"),
        (250.0, 2, "lab-27b-mlx", 65536, "Forever"),
        (250.0, 2, "lab-4b", 8192, "Less than a second from now"),
        (1200.0, 0, "", None, ""),
    ]
    assert observed(rec, "size", "label", "value", "step") == [
        ("lab-27b-mlx", 18 * GB, GB),
        ("lab-27b-mlx", 23 * GB, GB),
        ("lab-4b", 7_400_000_000, 100_000_000),
    ]
    assert observed(rec, "processor", "label", "words") == [("lab-27b-mlx", "100% GPU"), ("lab-27b-mlx", "100% GPU"), ("lab-4b", "62%/38% CPU/GPU")]


def test_api_ps() -> None:
    rec = read("samples/api_ps.json").recording
    assert rows(rec, "listed", "t", "count", "model", "digest", "context", "label") == [
        (0.0, 1, "lab-27b-mlx", "0123456789abcdef", 65536, "2026-09-20T10:14:10Z"),
        (950.0, 0, "", "", None, ""),
    ]
    assert observed(rec, "size", "value", "unit", "step") == [(23101784064, "B", 1)]


def test_activity_monitor() -> None:
    rec = read("samples/activity_monitor.txt").recording
    assert observed(rec, "footprint", "label", "pid", "value") == [("ollama", 4242, gib(23.14))]
    assert observed(rec, "rss", "value") == [(gib(1.31),)]
    assert observed(rec, "compressed", "label", "value") == [("ollama", mib(512)), ("", gib(5.10))]
    assert observed(rec, "physical") == [(gib(48),)]
    assert observed(rec, "swap_used") == [(gib(0.87),)]
    assert observed(rec, "wired") == [(gib(24.10),)]
    assert observed(rec, "pressure", "words") == [("yellow",)]
    assert {name: observed(rec, name) for name in ("memory_used", "cached_files", "app")} == {
        "memory_used": [(gib(41.2),)],
        "cached_files": [(gib(3.9),)],
        "app": [(gib(12),)],
    }


def test_footprint() -> None:
    imported = read("samples/footprint.txt")
    rec = imported.recording
    assert observed(rec, "footprint", "pid", "label", "value", "unit") == [(4242, "ollama", gib(23), "GB of 1024")]
    assert observed(rec, "dirty", "label", "value") == [
        ("IOAccelerator (graphics)", gib(22)),
        ("MALLOC_LARGE", mib(274)),
        ("mapped file", 0),
        ("TOTAL", gib(23)),
    ]
    assert observed(rec, "clean", "label", "value")[2:] == [("mapped file", mib(1100)), ("TOTAL", mib(1100))]
    assert observed(rec, "reclaimable", "value") == [(0,), (mib(16),), (0,), (mib(16),)]
    assert observed(rec, "footprint_peak") == [(gib(27),)]
    assert imported.summary.of("not_understood") == {}


def test_ps_trace() -> None:
    rec = read("samples/ps_trace.tsv").recording
    assert rows(rec, "process_seen", "t", "pid", "ppid", "label", "model") == [
        (0.0, 4242, 4100, "ollama", "lab-27b-mlx"),
        (240.0, 4242, 4100, "ollama", "lab-27b-mlx"),
    ]
    assert observed(rec, "rss") == [(1371136 * 1024,), (1380352 * 1024,)]
    assert observed(rec, "virtual") == [(452984832 * 1024,)] * 2


def test_system_trace() -> None:
    imported = read("samples/system_trace.log")
    rec = imported.recording
    assert observed(rec, "wired", "t", "value") == [(0.0, 1479912 * 16384), (240.0, 1811200 * 16384)]
    assert observed(rec, "free") == [(120034 * 16384,), (20411 * 16384,)]
    assert observed(rec, "compressor") == [(98201 * 16384,)]
    assert observed(rec, "swapped_out") == [(0,), (44120 * 16384,)]
    assert observed(rec, "swap_used") == [(0,), (mib(871.25),)]
    assert observed(rec, "swap_total") == [(0,), (mib(2048),)]
    assert observed(rec, "free_share", "number") == [(0.31,), (0.12,)]
    assert imported.summary.of("not_understood") == {}


def test_resident_table_of_17924() -> None:
    rec = read("logs/real_17924_resident_table.txt").recording
    # a lone G is binary; request 0 is the state before the first
    assert observed(rec, "resident", "request", "value", "unit") == [(0, gib(20.5), "G"), (10, gib(22.0), "G"), (20, gib(23.3), "G"), (30, gib(24.9), "G")]
    assert observed(rec, "delta", "value") == [(0,), (gib(1.5),), (gib(2.8),), (gib(4.4),)]
    assert requests(rec, "request") == [(10,), (20,), (30,)]


def test_request_size_tables() -> None:
    rec = read("samples/request_size_table.txt").recording
    assert observed(rec, "resident", "request", "value") == [(r, gib(g)) for r, g in ((0, 18.1), (5, 19.7), (10, 21.3), (15, 22.9), (28, 26.7), (60, 26.7))]
    rec = read("samples/request_size_simple.csv").recording
    expected = [(0, 18), (1, 18), (2, 19), (5, 20), (10, 21), (15, 23), (28, 26), (60, 26)]
    assert observed(rec, "size", "request", "value", "unit", "step") == [(r, g * GB, "GB", GB) for r, g in expected]


def test_states_in_markdown() -> None:
    imported = read("samples/state_rss_swap.md")
    rec = imported.recording
    states = ("Fresh load (model only)", "After the short-to-64k ladder", "During the single 128k request", "Idle afterwards")
    assert observed(rec, "rss", "label", "value") == list(zip(states, (24 * GB, 57_900_000_000, 74_600_000_000, 68_100_000_000), strict=True))
    assert observed(rec, "swap_used", "label", "value") == list(zip(states, (0, 15_200_000_000, 31_100_000_000, 32_400_000_000), strict=True))
    assert requests(rec, "request") == []
    assert imported.summary.of("not_understood") == {}


def test_two_arms_by_turn() -> None:
    rec = read("samples/turn_pagedout_nodes.txt").recording
    assert requests(rec, "request") == [(1,), (11,), (31,), (50,)]
    assert observed(rec, "paged_out", "request", "label", "value") == [
        (turn, arm, gib(size))
        for turn, before, after in ((1, 0.29, 0.29), (11, 4.60, 4.60), (31, 8.47, 7.94), (50, 11.19, 7.99))
        for arm, size in (("before", before), ("after", after))
    ]
    assert observed(rec, "nodes", "label", "number") == [
        (arm, nodes) for before, after in ((3, 3), (33, 33), (60, 56), (79, 56)) for arm, nodes in (("before", before), ("after", after))
    ]
    assert observed(rec, "reported", "request", "label", "value")[-2:] == [(50, "before", gib(28.2)), (50, "after", gib(25.0))]


def test_peaks_by_prompt() -> None:
    imported = read("samples/peak_by_prompt.log")
    rec = imported.recording
    assert requests(rec, "request", "tokens", "peak", "warnings") == [
        (1, 1024, gib(20.91), []),
        (2, 8192, gib(23.60), []),
        (3, 32768, gib(31.05), []),
        (4, 131072, gib(60.12), ["swap already active"]),
    ]
    assert imported.summary.of("known") == {"comment": 1}


def test_cold_and_warm() -> None:
    rec = read("samples/cold_warm.csv").recording
    assert requests(rec, "request", "label", "tokens", "cached", "left", "ttft_s", "peak") == [
        (1, "cold", 131072, 0, 131072, 182.0, None),
        (2, "in_sequence", 131072, 0, 131072, 249.0, gib(60.1)),
        (3, "after_sequence", 131072, 0, 131072, 317.0, None),
    ]
    assert observed(rec, "decode_tps", "request", "number", "unit") == [(1, 58.7, "tok/s"), (2, 54.3, "tok/s"), (3, 13.35, "tok/s")]
    assert observed(rec, "swap_used", "request", "value") == [(1, 0), (2, 15_200_000_000), (3, 31_100_000_000)]


def test_gauges_before_and_after() -> None:
    rec = read("samples/gauge_before_after.csv").recording
    assert observed(rec, "cache_bytes", "label", "value") == [("before", 15_100_000_000), ("after", 0), ("delta", -15_100_000_000)]
    assert observed(rec, "mlx_active", "label", "value") == [("before", 70_200_000_000), ("after", 55_100_000_000), ("delta", -15_100_000_000)]
    assert observed(rec, "mlx_pool", "value") == [(33 * GB,), (48_100_000_000,), (15_100_000_000,)]
    assert observed(rec, "footprint", "value") == [(104 * GB,), (104 * GB,), (-32_000,)]


def test_contamination_matrix() -> None:
    rec = read("samples/contamination_matrix.csv").recording
    assert requests(rec, "request", "label") == [(1, "D07"), (2, "D07"), (3, "D08"), (4, "D07")]
    assert observed(rec, "answer_of", "request", "words") == [(1, "D07"), (2, "D08"), (3, "E03"), (4, "D08")]
    assert observed(rec, "nonce_ok", "words") == [("true",), ("false",), ("false",), ("false",)]
    assert observed(rec, "num_ctx", "number") == [(8192,), (8192,), (8192,), (65536,)]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("logs/real_17924_resident_table.txt", "table"),
        ("samples/activity_monitor.txt", "activity-monitor"),
        ("samples/api_ps.json", "api-ps"),
        ("samples/footprint.txt", "footprint"),
        ("samples/mlxrunner.log", "ollama-log"),
        ("samples/ollama_ps.txt", "ollama-ps"),
        ("samples/peak_by_prompt.log", "peak-ladder"),
        ("samples/ps_trace.tsv", "ps-trace"),
        ("samples/state_rss_swap.md", "table"),
        ("samples/system_trace.log", "vm_stat"),
    ],
)
def test_the_kind_is_recognised(name: str, kind: str) -> None:
    imported = read(name)
    assert imported.kind == kind
    assert imported.recording.manifest.source == kind
    assert imported.recording.complete


def test_every_gauge_of_a_tool_has_a_meaning() -> None:
    tools = [path for path in sorted(FIXTURES.rglob("*.*")) if path.suffix in {".log", ".txt", ".json", ".tsv"} and path.parent != FIXTURES]
    named = {gauge for path in tools if (imported := import_file(path)).kind != "table" for gauge in imported.recording.observed["gauge"]}
    assert len(named) > 20
    assert named <= set(GAUGES)
