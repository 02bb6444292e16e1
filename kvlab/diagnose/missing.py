"""What a question may lack: by name, the sentence that says so, the commands that record just that (missing.toml), and whether it is missing indeed.

A command whose output is in the recording already is not named again.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from kvlab.recording.facts import Facts


@dataclass(frozen=True, slots=True)
class Gap:
    """Something that a recording may lack.

    Attributes:
        lacks: The sentence that says so.
        record: The commands or inputs that have it, each with the gauges or sources that show that it was given.
        absent: Whether a recording lacks it.
    """

    lacks: str
    record: tuple[tuple[str, tuple[str, ...]], ...]
    absent: Callable[[Facts], bool]


LOGS = ("ollama-log", "mlx-lm-log", "llama-server", "lm-studio", "omlx", "rapid-mlx", "mlx-openai-server", "mlx-swift", "mtplx", "http")
"""Sources that are a server's log."""


def _no_request_has(facts: Facts, *columns: str) -> bool:
    return not facts.requests.select(pl.all_horizontal(pl.col(columns).is_not_null()).any()).item()


_ABSENT: dict[str, Callable[[Facts], bool]] = {
    "free_memory": lambda facts: facts.machine.available is None,
    "model_bytes": lambda facts: facts.parts.held is None,
    "loaded_model": lambda facts: facts.none_listed,
    "owners": lambda facts: not facts.parts.bytes,
    "footprint": lambda facts: facts.parts.get("footprint") is None,
    "allocator": lambda facts: _no_request_has(facts, "active", "retained"),
    "matches": lambda facts: facts.requests.select((pl.col("matched").is_not_null() & pl.col("cached").is_not_null()).sum()).item() < 2,
    "seconds": lambda facts: facts.exact or all(_no_request_has(facts, name) for name in ("prefill_s", "ttft_s", "decode_s")),
    "model_series": lambda facts: max((rows.height for rows in facts.charged.values()), default=0) < 4,
    "finer_figures": lambda facts: max(map(len, facts.series), default=0) < 10**6,
    "verified_positions": lambda facts: not facts.checked,
    "shape": lambda facts: facts.shape.value is None,
    "a_cache": lambda facts: facts.policy.how == "unknown",
    "snapshots": lambda facts: facts.spans.filter(pl.col("died").is_null()).is_empty(),
}
"""Whether a recording lacks it; what is not here is missing whenever it is named."""


def _gap(name: str, read: dict[str, Any]) -> Gap:
    record = tuple((command, tuple(one for given in shown_by for one in (LOGS if given == "log" else (given,)))) for command, *shown_by in read["record"])
    return Gap(read["lacks"], record, _ABSENT.get(name, lambda _facts: True))


GAPS = {name: _gap(name, read) for name, read in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()}
"""Everything that a question may lack."""


def how_to_record(name: str, facts: Facts) -> str:
    """Return the sentence that says how to record what is missing: the commands whose output was not given yet; "" when all were."""
    given = {facts.source, *facts.gauges}
    commands = [command for command, shown_by in GAPS[name].record if not given.intersection(shown_by)]
    return f"Record {', or '.join(commands)}." if commands else ""
