"""Question: one question's words, which are data (words.toml), and the findings made with them. Files of questions decide; they hold no sentences."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from string import Formatter
from typing import Any

from kvlab.diagnose.finding import OPEN, Confidence, Evidence, Finding, Number
from kvlab.diagnose.missing import GAPS, how_to_record
from kvlab.recording.facts import Facts
from kvlab.units import binary

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
