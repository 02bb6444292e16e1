"""Question: one question's words, which are data (words.toml), and the findings made with them. Files of questions decide; they hold no sentences.

What a question may lack is data, too (missing.toml): by name, the sentence that says so, and the commands that record just that. A command whose output
is in the recording already is not named again.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Formatter
from typing import Any

import polars as pl

from kvlab.findings.finding import OPEN, Confidence, Evidence, Finding, Number
from kvlab.recording.facts import Facts
from kvlab.units import binary
from kvlab.workloads.names import EXPERIMENTS, FAMILIES, SCENARIOS


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


NAMED = frozenset({*EXPERIMENTS, *FAMILIES, *SCENARIOS})
"""Names of workloads that a command can run again."""

GAPS = {name: _gap(name, read) for name, read in tomllib.loads(Path(__file__).with_name("missing.toml").read_text(encoding="utf-8")).items()}
"""Everything that a question may lack."""


def how_to_record(name: str, facts: Facts) -> str:
    """Return the sentence that says how to record what is missing: the commands whose output was not given yet; "" when all were."""
    given = {facts.source, *facts.gauges}
    commands = [command for command, shown_by in GAPS[name].record if not given.intersection(shown_by)]
    workload = facts.recording.manifest.workload
    # of an import the requests are the user's own: they run again by themselves
    ran = f" --workload {workload}" if workload.partition(":")[0] in NAMED else " --watch 600 while the same requests run"
    return f"Record {', or '.join(commands)}.".replace("{workload}", ran) if commands else ""


_PART = re.compile(r"\[\[(.*?)\]\]")
"""A part of a sentence that is left out where one of its figures is None."""

WORDS = Path(__file__).with_name("words.toml")


@dataclass(frozen=True, slots=True)
class Question:
    """A question by its name, which is that of its section in words.toml."""

    name: str

    def say(self, key: str, numbers: Mapping[str, Any] | None = None, *, printed: Callable[[float], str] = binary, **more: Any) -> str:
        """Return the sentence `key` with figures filled in; a part in `[[ ]]` is left out where a figure in it is None.

        Args:
            key: The sentence's name.
            numbers: Figures by name.
            printed: How to print those that have `bytes` in their name.
            more: Further figures, or parts of the sentence.
        """
        return _filled(_words()[self.name][key], {**(numbers or {}), **more}, printed)

    def found(
        self,
        verdict: str,
        summary: str,
        numbers: dict[str, Number],
        confidence: Confidence,
        evidence: Evidence | None = None,
        *,
        refuted_by: str = "",
    ) -> Finding:
        """Return an answer.

        Args:
            verdict: One of the question's verdict words.
            summary: The sentences.
            numbers: The figures behind it.
            confidence: How sure it is.
            evidence: The rows it used; by default the numbers.
            refuted_by: The key of the sentence that says what would refute it; by default the verdict.
        """
        rows = evidence or Evidence("observed", (dict(numbers),))
        return Finding(self.name, verdict, summary, numbers, confidence, (rows,), self.refutes(refuted_by or verdict, numbers))

    def refutes(self, key: str, numbers: Mapping[str, Any] | None = None) -> str:
        """Return what would refute a verdict."""
        return _filled(_words()[self.name]["refuted_by"][key], numbers or {}, binary)

    def open(self, missing: str, facts: Facts | None, lacks: str = "", record: str | None = None) -> Finding:
        """Return that a recording does not answer the question: what is missing, and how to record it.

        Args:
            missing: What is missing, a name of `GAPS`.
            facts: What is known; None where `lacks` and `record` say it all.
            lacks: The sentence that says what is missing, where it can be said more exactly.
            record: The sentence that says how to record it, where it is another one.
        """
        how = record if record is not None else how_to_record(missing, facts) if facts is not None else ""
        summary = f"{lacks or GAPS[missing].lacks} {how}".strip()
        return Finding(self.name, OPEN, summary, {}, "low", (), "a recording that has what is missing", (missing,))


def _filled(sentence: str, figures: Mapping[str, Any], printed: Callable[[float], str]) -> str:
    shown = {name: printed(value) if "bytes" in name.split("_") and value is not None else value for name, value in figures.items()}

    def part(found: re.Match[str]) -> str:
        named = (name for _, name, _, _ in Formatter().parse(found[1]) if name)
        return found[1] if all(shown.get(name) is not None for name in named) else ""

    return _PART.sub(part, sentence).format_map({name: "unknown" if value is None else value for name, value in shown.items()})


def capital(words: str) -> str:
    """Return words with a capital letter first, as a sentence begins."""
    return words[:1].upper() + words[1:]


@lru_cache(maxsize=1)
def _words() -> dict[str, Any]:
    return tomllib.loads(WORDS.read_text(encoding="utf-8"))
