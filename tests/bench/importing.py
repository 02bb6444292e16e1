"""What importing costs, `python -m tests.bench.importing`: MB/s on one core and the most bytes its process holds, on logs of a gigabyte made for it.

Each log is read by a process of its own, as `kvlab import LOG -o R` does it, so that its peak is the importer's and nothing else's.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvlab.errors import NotAvailable
from kvlab.recording import computer
from kvlab.studies.bench_runner import Say, machine_words, quiet, require_rounds
from kvlab.units import binary
from kvlab.views import text_table
from tests.importers.synthetic_log import MIXES, write_log

SIZE = 10**9
"""Bytes of each log."""

BAR_MB_S = {"trace": 50.0}
"""Megabytes a second below which the bench fails: a log of a gigabyte is one at TRACE. The other mixes are shown."""

BAR_BYTES = 500 * 10**6
"""The most bytes that the importer's process may hold."""

_READ = """
import json, resource, sys, time
from kvlab.importers import import_file
begun, worked = time.perf_counter(), time.process_time()
seen = import_file(sys.argv[1], out=sys.argv[2])
seconds, worked = time.perf_counter() - begun, time.process_time() - worked
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
print(json.dumps({"seconds": seconds, "cpu_seconds": worked, "peak": peak, "lines": seen.summary.total(), "requests": seen.requests, "events": seen.events}))
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One log and what reading it took.

    Attributes:
        mix: Which lines it is made of.
        size: Its bytes.
        lines: Its lines.
        requests: Requests found in it.
        events: Events made of it.
        seconds: What the fastest round took.
        cpu_seconds: Seconds of all the process's threads together: what it would take on one core that nobody else uses.
        peak: The most bytes that were resident.
    """

    mix: str
    size: int
    lines: int
    requests: int
    events: int
    seconds: float
    cpu_seconds: float
    peak: int

    @property
    def mb_s(self) -> float:
        """Megabytes (10^6) a second of one core."""
        return self.size / 1e6 / self.cpu_seconds

    @property
    def passed(self) -> bool:
        """Whether it was fast enough and the process small enough."""
        return self.mb_s >= BAR_MB_S.get(self.mix, 0.0) and self.peak <= BAR_BYTES

    def to_dict(self) -> dict[str, Any]:
        """Return the row as JSON holds it."""
        return {
            "mix": self.mix,
            "log_bytes": self.size,
            "lines": self.lines,
            "requests": self.requests,
            "events": self.events,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "mb_s": self.mb_s,
            "bar_mb_s": BAR_MB_S.get(self.mix),
            "peak_bytes": self.peak,
            "bar_peak_bytes": BAR_BYTES,
            "passed": self.passed,
        }


@dataclass(frozen=True, slots=True)
class Bench:
    """What was measured, and on what machine."""

    rows: tuple[Row, ...]
    machine: dict[str, Any]

    @property
    def passed(self) -> bool:
        """Whether every row is within its bars."""
        return all(row.passed for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """Return the measurement as JSON holds it."""
        return {"bench": "import", "rows": [row.to_dict() for row in self.rows], "passed": self.passed, "machine": self.machine}


def measure(rounds: int = 1, say: Say = quiet, size: int = SIZE) -> Bench:
    """Write each log into a temporary folder, read it `rounds` times, and take the fastest time and the highest peak.

    Raises:
        BadValue: `rounds` is below 1.
        NotAvailable: a log cannot be read here; the reading process says why.
    """
    require_rounds(rounds, 1)
    rows: list[Row] = []
    for mix in MIXES:
        with tempfile.TemporaryDirectory(prefix="kvlab-bench-") as folder:
            log = Path(folder) / "server.log"
            write_log(log, size, mix)
            seen = [_read(log, Path(folder) / "out.kvrec") for _ in range(rounds)]
            best = min(seen, key=lambda one: one["cpu_seconds"])
            peak = max(one["peak"] for one in seen)
            rows.append(Row(mix, log.stat().st_size, best["lines"], best["requests"], best["events"], best["seconds"], best["cpu_seconds"], peak))
        say(f"{mix}: {rows[-1].mb_s:,.1f} MB/s of a core, at most {binary(rows[-1].peak)} in the process")
    return Bench(tuple(rows), computer.facts())


def as_text(seen: Bench) -> str:
    """Return the measurement as a small table for a terminal."""
    titles = ("log", "size", "lines", "requests", "events", "seconds", "CPU s", "MB/s of a core", "bar", "process at most", "bar", "")
    rows = [
        (
            row.mix,
            binary(row.size),
            f"{row.lines:,}",
            f"{row.requests:,}",
            f"{row.events:,}",
            f"{row.seconds:.1f}",
            f"{row.cpu_seconds:.1f}",
            f"{row.mb_s:.1f}",
            BAR_MB_S.get(row.mix),
            binary(row.peak),
            binary(BAR_BYTES),
            "passed" if row.passed else "NOT WITHIN ITS BARS",
        )
        for row in seen.rows
    ]
    return "\n".join([text_table.columns(titles, rows, left=(0, 11)), machine_words(seen.machine)])


def _read(log: Path, out: Path) -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", _READ, str(log), str(out)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotAvailable(what="the log that was made could not be read", why=done.stderr.strip()[-300:], hint="make room for 2 GB of temporary files")
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    found = measure(say=print)
    print(as_text(found))
    sys.exit(not found.passed)
