"""The kinds of input that can be read, how one is recognised by its beginning, and what reads it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from kvlab.importers.api_ps import ApiPs
from kvlab.importers.blocks import Blocks, Output, Section
from kvlab.importers.mac_tools import ActivityMonitor, Footprint, VmStat
from kvlab.importers.mlx_lm_log import MlxLmLog
from kvlab.importers.ollama_log import OllamaLog
from kvlab.importers.ollama_ps import OllamaPs
from kvlab.importers.peak_ladder import PeakLadder
from kvlab.importers.processes import PsTrace, Vmmap
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock
from kvlab.importers.summary import Summary
from kvlab.importers.table_known import is_ours
from kvlab.importers.table_shapes import read_grid
from kvlab.importers.tables import Table

MOST_LINES = 2_000
"""Lines by which a kind is recognised."""


class Importer(Protocol):
    """What reads one kind of input into rows."""

    @property
    def clock(self) -> Clock:
        """Turns its moments into seconds."""
        ...

    @property
    def model(self) -> str:
        """The first model that was named; "" when none."""
        ...

    @property
    def version(self) -> str | None:
        """The server's version, when it was named."""
        ...

    def lines(self, lines: Sequence[bytes]) -> None:
        """Read the next lines."""
        ...

    def finish(self) -> None:
        """The file ends: write what waits."""
        ...


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of input.

    Attributes:
        name: Its name, as `--as` takes it.
        about: What it is, in words.
        sign: A pattern that one of its lines has; None when it is told otherwise.
        make: What makes its importer, from where rows and counts of lines go.
    """

    name: str
    about: str
    sign: re.Pattern[str] | None
    make: Callable[[Rows, Summary], Importer]


def _blocks(*sections: Callable[[Output], Section]) -> Callable[[Rows, Summary], Importer]:
    return partial(_made, sections=sections)


def _made(rows: Rows, summary: Summary, sections: Sequence[Callable[[Output], Section]]) -> Importer:
    return Blocks(rows, summary, sections)


_LOG = re.compile(
    r'^\[GIN\] |level=[A-Z]+ source=\S+ |msg="?(?:cache (?:hit|miss)|failed to restore cache)|(?:^|\s)cache (?:hit|miss)\s+total=\d'
    r"|(?:prefix|kv) cache active_tokens: "
)
_SECTIONS = (OllamaPs, VmStat, Footprint, Vmmap, PsTrace, MlxLmLog, PeakLadder, ActivityMonitor)

KINDS: dict[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind("ollama-log", "Ollama's server.log at any level, whole or as pasted", _LOG, OllamaLog),
        Kind("api-ps", "answers of GET /api/ps as JSON", re.compile(r'^\s*[\[{].*"models"|^\s*"models"\s*:'), ApiPs),
        Kind("ollama-ps", "the table of `ollama ps`", re.compile(r"^NAME\s+ID\s+SIZE\b"), _blocks(OllamaPs)),
        Kind(
            "vm_stat", "`vm_stat`, `sysctl vm.swapusage`, `memory_pressure`", re.compile(r"^Mach Virtual Memory Statistics|^vm\.swapusage: "), _blocks(VmStat)
        ),
        Kind("footprint", "`footprint PID`", re.compile(r"\[\d+\]: .*Footprint: "), _blocks(Footprint)),
        Kind("vmmap", "`vmmap -summary PID`", re.compile(r"^Physical footprint(?: \(peak\))?:\s"), _blocks(Vmmap)),
        Kind(
            "ps-trace", "`ps` with PID and RSS, once or again and again", re.compile(r"(?i)^(?=.*\bpid\b)(?=.*\brss(?:_ki?b)?\b)[\w\s%+]+$"), _blocks(PsTrace)
        ),
        Kind(
            "activity-monitor",
            "figures typed off Activity Monitor",
            re.compile(r"^(?:Physical Memory|Memory Used|Memory Pressure|Physischer Speicher|Verwendeter Speicher|Speicherdruck|Prozessname): "),
            _blocks(ActivityMonitor),
        ),
        Kind(
            "mlx-lm-log",
            "logs of mlx_lm.server and of servers like it",
            re.compile(
                r"Prompt Cache: \d+ seq|KV Caches: \d+ seq|Prompt processing progress: \d|Starting httpd at |^Prompt: [\d,]+ tokens, |\bUnloaded .*freed="
            ),
            _blocks(MlxLmLog),
        ),
        Kind("peak-ladder", "peaks by prompt length", re.compile(r"^\s*peak memory\s+pp\d+:"), _blocks(PeakLadder)),
        Kind("table", "a table of figures: markdown, CSV, or columns", None, Table),
        Kind("samples", "several tools' outputs one after another", None, _blocks(*_SECTIONS)),
    )
}
"""All kinds by name, in the order in which they are tried."""


def recognise(head: bytes) -> str | None:
    """Return the kind of a file that begins with `head`; None when it is none that is known. Outputs of several tools are `samples`."""
    lines = [line[:2_000] for line in head.decode("utf-8", "replace").splitlines()[:MOST_LINES]]
    found = [kind.name for kind in KINDS.values() if kind.sign is not None and any(map(kind.sign.search, lines))]
    if found:
        return found[0] if len(found) == 1 or found[0] in ("ollama-log", "api-ps") else "samples"
    grid = read_grid(lines)
    return "table" if grid is not None and is_ours(grid) else None
