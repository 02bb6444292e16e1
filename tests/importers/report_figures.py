"""What a person reads off each report: gauges and columns of requests with the figures as they are printed there. `tests/fixtures/reports` holds the reports.

A figure is the text in the report; what it is in bytes, seconds or tokens is worked out here by `value`, not by the importer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_DECIMAL = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_BINARY = {"KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "K": 2**10, "M": 2**20, "G": 2**30, "g": 2**30, "pages": 16384, "GB of 1024": 2**30}
UNITS = {**_DECIMAL, **_BINARY, "s": 1.0, "ms": 1e-3, "tok/s": 1.0, "tokens": 1, "%": 0.01, "": 1}
"""Bytes, seconds or what else a unit means."""


@dataclass(frozen=True)
class Report:
    """One report.

    Attributes:
        kind: What it is recognised as.
        gauges: By gauge, `label: figure` or the figure alone, as printed, in the order in which they stand there.
        requests: By column of `requests`, the figures; None where it is unknown.
        unit: The unit of figures that are printed without one, by gauge.
        names: Words that may be any others: names of models, hosts and numbers of processes.
        loose: The lines whose order is of no meaning, as [first, last), from 0.
        words: By event and field, words that are read.
    """

    kind: str
    gauges: dict[str, list[str]] = field(default_factory=dict)
    requests: dict[str, list[str | None]] = field(default_factory=dict)
    unit: dict[str, str] = field(default_factory=dict)
    names: tuple[str, ...] = ()
    loose: tuple[int, int] = (0, 0)
    words: dict[tuple[str, str], list[str | int | None]] = field(default_factory=dict)


def value(text: str, unit: str = "") -> float:
    """Return what a figure is worth."""
    found = re.fullmatch(r"[~≈]?\s*(-?\d[\d,.\u202f ]*?)\s*([A-Za-z%/]+)?", text.strip())
    assert found is not None, text
    return float(found[1].replace(",", "").replace(" ", "")) * UNITS[found[2] or unit]


_GB = [f"{2.2 * count:.2f} GB" for count in range(1, 13)]
_ROUNDS = ["1.11", "2.08", "3.05", "4.02", "4.99", "5.96", "6.92", "7.89", "8.86", "9.83", "10.80", "11.77", "12.74"]
_MLX = Report(
    "mlx-lm-log",
    {"prompt_cache": ["0.00 GB", "1.75 GB"], "prompt_cache_sequences": ["0", "2"], "entry_tokens": ["0", "41056"]},
    {"left": ["41061"]},
    words={("served", "status"): [200, 200]},
)
_PS = ("ollama-ps", ("qwen3.8-27b:latest", "a50eda8ed977"))
_HEAP = {"footprint": ["8.25 GB", "10.08 GB", "11.91 GB", "13.74 GB"], "size": ["7.98 GB"] * 4}
_LADDER = ["20.78 GiB", "22.15 GiB", "23.42 GiB", "26.09 GiB", "31.19 GiB", "41.01 GiB", "60.58 GiB"]
_LENGTHS = ["1024", "4096", "8192", "16384", "32768", "65536", "131072"]
_TPS = {"decode_tps": ["58.7 tok/s", "54.3 tok/s", "13.35 tok/s"]}

REPORTS: dict[str, Report] = {
    "composite_llama_server_in_ollama.log": Report(
        "ollama-log",
        {
            "prompt_cache": ["7377.676 MiB"],
            "prompt_cache_limit": ["8192 MiB", "8192.000 MiB"],
            "prompt_cache_sequences": ["27"],
            "similarity": ["0.935"],
            "checkpoint": ["erased: 149.626 MiB"],
        },
        {"tokens": ["15099"], "cached": ["0"], "left": ["15099"], "prefill_s": ["16849.10 ms"], "decode_s": ["1058.70 ms"], "generated": ["31"]},
        words={("matched", "layer"): [None, None, "recurrent"], ("served", "status"): [200]},
    ),
    "composite_mlxlm_cache_grows.log": Report(
        "mlx-lm-log",
        {"prompt_cache": _GB, "prompt_cache_sequences": [str(count) for count in range(1, 13)]},
        {"left": ["8001"] * 12},
    ),
    "composite_pane32.txt": Report(
        "activity-monitor",
        {"physical": ["32.00 GB"], "memory_used": ["30.68 GB"], "cached_files": ["1.10 GB"], "swap_used": ["10.10 GB"]},
        unit={"": "GB of 1024"},
        loose=(0, 4),
    ),
    "composite_ps18.txt": Report(_PS[0], {"size": ["18 GB"]}, names=_PS[1], words={("listed", "context"): [73728]}),
    "composite_ps28.txt": Report(_PS[0], {"size": ["28 GB"]}, names=_PS[1], words={("listed", "context"): [73728]}),
    "composite_vmstat_full.txt": Report(
        "vm_stat",
        {"free": ["4275"], "wired": ["921985"], "compressor": ["541951"], "swapped_in": ["120300"], "swapped_out": ["620300"], "file_backed": ["108034"]},
        unit={"": "pages"},
        loose=(1, 23),
    ),
    "devto_m1max_activity.txt": Report(
        "activity-monitor",
        {"physical": ["64.00 GB"], "memory_used": ["60.74 GB"], "compressed": ["19.69 GB"], "swap_used": ["1.57 GB"], "footprint": ["Python: 44 GB"]},
        unit={"": "GB of 1024"},
        loose=(0, 4),
    ),
    "ik_2320_cachestate.log": Report(
        "llama-server",
        {
            "prompt_cache": ["18803.422 MiB"],
            "prompt_cache_limit": ["8192.000 MiB"],
            "entry_tokens": ["53271"],
            "checkpoints": ["18"],
            "cache_entry": ["18803.422 MiB"],
        },
        names=("0x72af040c5180",),
    ),
    "k8s_4341_anon.md": Report("table", {"anonymous": ["0.08 GiB", "7.95 GiB", "8.06 GiB", "8.06 GiB"]}, {"request": ["100", "200", "300"]}),
    "llamacpp_25953_rounds.csv": Report(
        "table",
        {"rss": _ROUNDS, "generated_total": [str(300 * count) for count in range(13)]},
        {"request": [str(count) for count in range(1, 13)]},
        unit={"rss": "GB"},
    ),
    "llamacpp_25953_rounds.txt": Report("table", {"figures": [f"{one} GB" for one in _ROUNDS]}),
    "mlxlm_480_cachewrapper.log": Report(
        "lm-studio",
        {"trimmed": ["41"], "trim_refused": ["71"]},
        {"cached": ["0"]},
        words={("matched", "reason"): ["reuse_limited_by_restore_point"]},
    ),
    "mlxmanager_mlxlm.log": _MLX,
    "mlxmanager_mlxlm_ms.log": _MLX,
    "mlxopenai_137.log": Report(
        "mlx-openai-server", {}, {"tokens": ["8831", "9487"], "cached": ["0", "0"], "left": ["8831", "9487"], "prefill_s": ["36 s", None]}
    ),
    "mlxswift_196_prefix.log": Report(
        "mlx-swift",
        {"prompt_cache": ["18137088", "72105984", "153059328", "270286848"], "cache_hits": ["0"] * 5, "cache_misses": ["4"]},
        {"ttft_s": ["0.364 s", "0.537 s", "0.546 s", "0.718 s"]},
        names=("turn-1(cold)",),
    ),
    "mtplx_229_before_after.md": Report("table", {}, {"cached": ["0", "43 101"], "left": ["43 103", "166"], "ttft_s": ["126.4 s", "3.24 s"]}),
    "mtplx_229_health.json": Report(
        "mtplx",
        {"cache_entry": ["4208962560"], "prompt_cache_limit": ["3221225472"], "entry_tokens": ["40540"]},
        names=("anon-0000000000000000",),
    ),
    "ollama_10076_dockerstats.txt": Report(
        "docker-stats",
        {"container": ["ollama: 20.1GiB", "open-webui: 67.11MiB", "ollama: 21.4MiB", "open-webui: 67.11MiB"], "container_limit": ["30.46GiB"] * 4},
        names=("0dd08cb728c4", "ed751f322c16"),
    ),
    "ollama_10288_top.txt": Report(
        "ps-trace", {"rss": ["9.6g"], "swapped": ["9.5g"], "shared": ["7.3g"], "virtual": ["96.8g"]}, names=("182076", "ollama-engine")
    ),
    "ollama_10433_ps.txt": Report(
        "samples", words={("listed", "count"): [0], ("process_seen", "pid"): [2268027, 2275563], ("process_seen", "ppid"): [1, 2268027]}, names=("46385",)
    ),
    "ollama_12912_metal.log": Report(
        "ollama-log",
        {"weights": ["CPU_Mapped: 308.23 MiB", "Metal_Mapped: 1918.35 MiB"], "kv_cache": ["1792.00 MiB"], "kv_cells": ["16384"], "context": ["16384"]},
        words={("served", "status"): [200]},
    ),
    "ollama_16031_ps.txt": Report("ollama-ps", {"size": ["85 GB"]}, names=("qwen3.6:27b-q4_K_M", "a50eda8ed977"), words={("listed", "context"): [262144]}),
    "ollama_4443_nvidia.txt": Report(
        "samples", {"size": ["10 GB", "10 GB"], "gpu_used": ["9588MiB"], "gpu_total": ["24576MiB"]}, names=("yi:9b-v1.5-q8_0", "6ea05582d5ca")
    ),
    "ollama_7606_loop.txt": Report(
        "ollama-ps",
        {"size": ["6.4 GB"]},
        names=("gemma3:4b", "c0494fe00251"),
        words={("listed", "label"): ["", "Stopping..."], ("life_sign", "state"): ["unload_asked"]},
    ),
    "omlx_1833_settle.md": Report(
        "table",
        {
            "settling": [
                *("27.542 GB", "25.530", "22.301", "22.158", "20.739 GB", "20.069", "20.069", "19.928"),
                *("26.531 GB", "21.175", "21.175", "21.031", "26.727 GB", "21.221", "21.221", "21.078"),
            ],
            "active": ["21.421 GB", "19.191 GB", "20.284 GB", "20.331 GB"],
        },
        unit={"settling": "GB"},
    ),
    "omlx_2184_vmstat.txt": Report("vm_stat", {"wired": ["27131904"], "free": ["2816"], "inactive": ["3043287"]}, unit={"": "pages"}, loose=(1, 9)),
    "omlx_2430_pressure.log": Report(
        "omlx",
        {
            "current": ["69.0GB", "66.7GB", "71.6GB", "66.7GB", "71.5GB"],
            "soft_limit": ["66.6GB"] * 3,
            "hard_limit": ["68.4GB"] * 3,
            "ceiling": ["72.0GB"] * 3,
            "hot_cache_freed": ["2.6GB", "5.2GB"],
        },
    ),
    "omlx_702_jetsam.ips": Report(
        "jetsam",
        {"free": ["940"], "active_pages": ["4483329"], "compressor": ["7365318"]},
        unit={"": "pages"},
        words={("observed", "words"): ["vm-compressor-space-shortage"]},
    ),
    "omlx_862_panic.txt": Report("panic", {}),
    "rapidmlx_2058.log": Report(
        "rapid-mlx",
        {"entry_tokens": ["19344"]},
        {"tokens": ["19485"], "matched": ["19322"], "cached": ["0"], "left": ["19485"]},
        names=("00000001-000",),
    ),
    "signet_1006_footprint.txt": Report("table", {"footprint": ["265M", "501M", "1.3G", "2.0G", "2.0G"], "regions": ["2", "4", "11", "17", "17"]}),
    "pasted/c_rows.csv": Report("table", {"wrong": ["12", "12", "18", "0"], "calls": ["48"] * 4, "num_ctx": ["8192", "32768", "65536", "65536"]}),
    "pasted/d4a.txt": Report(
        "table",
        {"paged_out": ["4.61 GiB", "7.92 GiB", "7.94 GiB", "7.96 GiB", "7.98 GiB"], "nodes": ["33", "56", "56", "56", "56"]},
        {"request": ["11", "21", "31", "41", "50"]},
    ),
    "pasted/e1.txt": Report("api-ps", words={("listed", "count"): [0]}),
    "pasted/e2_session.txt": Report(
        "samples",
        {"size": ["21474836480"]},
        words={
            ("process_seen", "pid"): [412, 9120, 412, 9120],
            ("listed", "count"): [1, 0],
            ("life_sign", "state"): ["unload_asked", "unload_accepted"],
        },
        names=("deepseek-r1:32b", "aaaa", "57731"),
    ),
    "pasted/env.txt": Report("settings", words={("observed", "words"): ["10m", "65536", "q8_0", "1", "2"]}),
    "pasted/h_4.csv": Report("table", _HEAP, {"request": ["1", "67", "133", "200"]}),
    "pasted/heapzh.csv": Report(
        "table",
        {
            "footprint": ["8.25 GB", "9.6 GB", "11 GB", "13.74 GB"],
            "size": ["7.98 GB"] * 4,
            "swap_used": ["0 GB", "0 GB", "1 GB", "1 GB"],
            "concurrency": ["1"] * 4,
        },
        {"request": ["1", "50", "100", "200"]},
        words={("process_seen", "pid"): [9120] * 4},
    ),
    "pasted/pgrep.txt": Report("ps-trace", words={("process_seen", "pid"): [412, 9120]}, names=("deepseek-r1:32b", "57731")),
    "pasted/s0b.csv": Report("table", {"size": ["18 GB", "23 GB", "26 GB"]}, {"request": ["15", "60"]}),
    "pasted/s1_peak.txt": Report("peak-ladder", {}, {"tokens": [*_LENGTHS], "peak": [*_LADDER]}),
    "pasted/s1_perf.txt": Report("table", _TPS, {"ttft_s": ["182 s", "249 s", "317 s"], "tokens": ["131072"] * 3}),
    "pasted/s1_perf2.txt": Report("table", _TPS, {"ttft_s": ["182 s", "249 s", "317 s"]}),
    "pasted/s1_two_tables_and_peaks_hash.txt": Report(
        "samples",
        {"rss": ["24 GB", "58.5 GB", "75.2 GB", "68.6 GB"], "swap_used": ["0 GB", "15.6 GB", "31.6 GB", "32.7 GB"], **_TPS},
        {"ttft_s": ["182 s", "249 s", "317 s", *[None] * 7], "peak": [*[None] * 3, *_LADDER]},
    ),
    "pasted/stop.txt": Report(
        "samples",
        {"size": ["21 GB"]},
        words={("process_seen", "pid"): [412, 9120], ("listed", "count"): [1, 0], ("life_sign", "state"): ["unload_asked"]},
        names=("deepseek-r1:32b", "abcdef012345", "57731"),
    ),
    "pasted/unload_answer.json": Report("ollama-api", words={("life_sign", "state"): ["unload_accepted"]}, names=("deepseek-r1:32b",)),
    "pasted/vmmap1.txt": Report(
        "vmmap",
        {
            "footprint": ["8.25G"],
            "footprint_peak": ["8.6G"],
            "region_virtual": ["IOAccelerator: 6.0G", "MALLOC_LARGE: 2.1G", "MALLOC_SMALL: 200.0M", "mapped file: 4.6G", "TOTAL: 12.9G"],
        },
        loose=(26, 30),
    ),
    "pasted/vmmap2.txt": Report("vmmap", {"footprint": ["13.74G"], "region_resident": ["6.0G", "7.5G", "150.0M", "4.1G", "12.2G"]}),
    "pasted/warn3.log": Report("ollama-log", {}, {"tokens": ["46990"], "matched": ["46974"], "cached": ["0"], "left": ["46990"]}),
    "pasted/y1.txt": Report("table", {"rss": ["24 GB", "68.6 GB"], "swap_used": ["0 GB", "32.7 GB"]}),
}
