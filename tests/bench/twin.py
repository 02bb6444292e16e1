"""The twin's price: a chat of 50 turns and a public trace of 12,031 requests, both on a 27B shape, on one core.

Each is run in a process of its own, so that its resident bytes are its own. A run is what `kvlab twin` does: requests, events, a recording,
findings. Seconds are the processor's: on a core of its own the clock shows the same. Bars: `CHAT_S` and `TRACE_S` seconds, at most `RSS_BYTES`
resident bytes.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvlab.recording import computer
from kvlab.studies.bench_runner import Say, quiet, require_rounds
from kvlab.units import GB
from kvlab.views import text_table

ROOT = Path(__file__).resolve().parents[2]

SHAPE = "qwen3.8-27b"
"""The model whose twin is timed."""

CHAT, TRACE = "D4", "trace:mooncake"
"""The workloads: one long chat, and a public trace of a service."""

CHAT_S, TRACE_S = 1.0, 60.0
"""Seconds of the processor that each may take."""

RSS_BYTES = 1 * GB
"""Resident bytes of the process stay below this."""


@dataclass(frozen=True, slots=True)
class Timed:
    """One workload's run.

    Attributes:
        workload: Its name.
        requests: How many requests it has.
        seconds: Of each round, the processor's time for the run and its table of requests.
        findings_s: Of each round, the processor's time for all findings.
        clock_s: Of each round, the clock's time for the run: longer where other programs want the core too.
        rss_bytes: The process's resident bytes at their highest.
        bar_s: Seconds at most.
    """

    workload: str
    requests: int
    seconds: tuple[float, ...]
    findings_s: tuple[float, ...]
    clock_s: tuple[float, ...]
    rss_bytes: int
    bar_s: float

    @property
    def passed(self) -> bool:
        """Whether the median is under its bar and the resident bytes are under theirs."""
        return statistics.median(self.seconds) < self.bar_s and self.rss_bytes < RSS_BYTES

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as JSON holds them."""
        return {
            "workload": self.workload,
            "requests": self.requests,
            "seconds": list(self.seconds),
            "findings_s": list(self.findings_s),
            "clock_s": list(self.clock_s),
            "rss_bytes": self.rss_bytes,
            "bar_s": self.bar_s,
            "bar_rss_bytes": RSS_BYTES,
            "passed": self.passed,
        }


@dataclass(frozen=True, slots=True)
class TwinBench:
    """Both runs, and on what machine."""

    runs: tuple[Timed, ...]
    machine: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as JSON holds it."""
        return {"bench": "twin", "shape": SHAPE, "runs": [run.to_dict() for run in self.runs], "machine": self.machine, "passed": self.passed}

    @property
    def passed(self) -> bool:
        """Whether both are under their bars."""
        return all(run.passed for run in self.runs)


def measure(*, rounds: int = 1, say: Say = quiet) -> TwinBench:
    """Run both workloads `rounds` times each.

    Raises:
        BadValue: fewer than one round.
    """
    require_rounds(rounds, 1)
    runs: list[Timed] = []
    for name, bar in ((CHAT, CHAT_S), (TRACE, TRACE_S)):
        told = [_in_its_own_process(name) for _ in range(rounds)]
        runs.append(
            Timed(
                name,
                told[0]["requests"],
                tuple(one["seconds"] for one in told),
                tuple(one["findings_s"] for one in told),
                tuple(one["clock_s"] for one in told),
                max(one["rss_bytes"] for one in told),
                bar,
            )
        )
        say(f"{name}: {statistics.median(runs[-1].seconds):.2f} s")
    return TwinBench(tuple(runs), computer.facts())


def as_text(bench: TwinBench) -> str:
    """Return the measurement for a terminal."""
    rows = [
        (
            run.workload,
            f"{run.requests:,}",
            f"{statistics.median(run.seconds):.2f}",
            f"{run.bar_s:g}",
            f"{statistics.median(run.clock_s):.2f}",
            f"{statistics.median(run.findings_s):.2f}",
            f"{run.rss_bytes / GB:.2f}",
            f"{RSS_BYTES / GB:g}",
            "yes" if run.passed else "NO",
        )
        for run in bench.runs
    ]
    return f"the twin of {SHAPE}\n" + text_table.columns(
        ("workload", "requests", "processor s", "bar s", "clock s", "findings s", "resident GB", "bar GB", "passed"), rows
    )


def run_once(name: str) -> dict[str, Any]:
    """Run workload `name` in this process and return its figures."""
    import psutil

    import kvlab
    from kvlab.findings import diagnose

    twin, work = kvlab.twin(SHAPE), kvlab.workloads.resolve(name)
    clock, started = time.perf_counter(), time.process_time()
    recording = twin.run(work, progress=False)
    count = recording.requests.height
    clock, ran = time.perf_counter() - clock, time.process_time()
    diagnose(recording)
    ended = time.process_time()
    used: Any = psutil.Process().memory_info()
    # the highest there was, where the system tells; else what is held now
    highest = getattr(used, "peak_wset", None) or _highest() or used.rss
    return {"requests": count, "seconds": ran - started, "findings_s": ended - ran, "clock_s": clock, "rss_bytes": int(highest)}


def _highest() -> int:
    try:
        import resource
    except ImportError:
        return 0
    # kilobytes on Linux, bytes on macOS
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _in_its_own_process(name: str) -> dict[str, Any]:
    code = f"import json; from tests.bench.twin import run_once, on_one_core; on_one_core(); print(json.dumps(run_once({name!r})))"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=dict(os.environ, POLARS_MAX_THREADS="1"), check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def on_one_core() -> None:
    """Keep this process on one core, where the system can."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
