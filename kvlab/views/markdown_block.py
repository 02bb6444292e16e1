"""A recording as one block of Markdown to paste into an issue tracker: verdicts, figures, versions, the checklist, some rows of its requests.

Invariants: no prompt, no answer, no label (people call requests by their prompts), no absolute path, no address, no user's name; every figure has its unit.
"""

from __future__ import annotations

import getpass
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import polars as pl

from kvlab.findings import Finding, Findings
from kvlab.findings.checklist import DECISIONS, Checklist
from kvlab.recording import Recording
from kvlab.recording.caveats import notes
from kvlab.recording.facts import model_of, version_of
from kvlab.recording.fold_requests import SECONDS
from kvlab.recording.policy_words import policy_words
from kvlab.units import binary
from kvlab.views.finding_cards import known_figures
from kvlab.views.text_table import many
from kvlab.visible_text import visible

ROWS = 12
"""Rows of requests at most: the first and the last ones."""

LAST_LINE = "Made with `kvlab report --markdown`. It holds no prompts, answers, labels, paths or names."

BYTES = ("size", "footprint", "swap_used", "counted", "snapshots", "live", "active", "peak")
COUNTS = ("request", "tokens", "matched", "cached", "left", "generated")


def markdown_block(recording: Recording, findings: Findings, checklist: Checklist | None = None) -> str:
    """Return the block; ends with a new line."""
    answered = [finding for finding in findings if not finding.is_open]
    still_open = [finding for finding in findings if finding.is_open]
    head = findings.about("budget_or_leak") if any(one.question == "budget_or_leak" for one in findings) else findings.findings[0]
    parts = [
        f"### {_plain(model_of(recording))}: {head.verdict} (confidence {head.confidence})",
        _sentence(head.summary),
        _versions(recording),
        *(f"> {_sentence(words)}" for words in findings.warnings),
        *(_finding(finding) for finding in answered),
        _open(still_open),
        _requests(recording),
        _checklist(checklist),
        LAST_LINE,
    ]
    return visible("\n\n".join(part for part in parts if part) + "\n")


def _versions(recording: Recording) -> str:
    made, version = recording.manifest, version_of(recording)
    mlx = [f"{name} {number}" for name, number in (("mlx", made.mlx), ("mlx-lm", made.mlx_lm)) if number]
    of_source = made.source in ("lab", "twin", "probe")
    machine = [str(made.machine.get(name, "")) for name in ("system", "version", "architecture")]
    ram = made.machine.get("ram_bytes")
    rows = [
        ("model", _plain(model_of(recording))),
        ("server", _plain(version) if version else "version unknown"),
        ("rules", policy_words(made.policy) if made.policy else "unknown"),
        ("kvlab", ", ".join([made.kvlab, *mlx])),
        ("source", f"{made.source}, {many(recording.requests.height, 'request')}"),
        *notes(made),
        # an import is read on another machine than the one it is of
        ("machine", f"{' '.join(word for word in machine if word)}{f', {binary(ram)}' if isinstance(ram, int) and ram else ''}" if of_source else ""),
    ]
    return _table(("", ""), [(name, words) for name, words in rows if words])


def _finding(finding: Finding) -> str:
    known = known_figures(finding)
    figures = f"\n\n<details><summary>{many(len(known), 'figure')}</summary>\n\n{_table(('figure', 'value'), known)}\n\n</details>" if known else ""
    refuted = f" Refuted by: {finding.refuted_by}." if finding.refuted_by else ""
    return f"**{finding.question}: {finding.verdict}** (confidence {finding.confidence}). {_sentence(finding.summary)}{refuted}{figures}"


def _open(findings: Sequence[Finding]) -> str:
    lines = [f"- {finding.question}: {_sentence(finding.summary)}" for finding in findings]
    return "\n".join(["Not answered by this recording:", "", *lines]) if lines else ""


def _requests(recording: Recording) -> str:
    rows = recording.requests.select(*COUNTS, *SECONDS, *(name for name in BYTES if name in recording.requests.columns))
    for gauge in BYTES[:3]:
        read = recording.observed.filter((pl.col("gauge") == gauge) & (pl.col("request") > 0) & pl.col("value").is_not_null())
        last = read.unique("request", keep="last").select("request", pl.col("value").alias(gauge))
        rows = rows.join(last, on="request", how="left", maintain_order="left")
    names = [name for name in (*COUNTS, *BYTES, *SECONDS) if name in rows.columns and rows.get_column(name).null_count() < rows.height]
    if len(names) < len(("request", "something")):
        return ""
    shown = rows if rows.height <= ROWS else pl.concat([rows.head(ROWS // 2), rows.tail(ROWS // 2)])
    cells = [[_cell(name, row[name]) for name in names] for row in shown.iter_rows(named=True)]
    note = many(rows.height, "request") + (f", the first and the last {ROWS // 2}" if rows.height > ROWS else "")
    return f"<details><summary>{note}</summary>\n\n{_table(names, cells)}\n\n</details>"


def _checklist(checklist: Checklist | None) -> str:
    if checklist is None:
        return ""
    lines = [f"- [{'x' if words else ' '}] {item.asks}{f': {_plain(words)}' if words else f' (fill it: `{item.fill}`)'}" for item, words in checklist]
    return "\n".join(["**Checklist**", "", *lines, "", f"Decision: {DECISIONS[checklist.decision]} ({checklist.reason})."])


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name in BYTES:
        return binary(value)
    return f"{value:.2f} s" if name in SECONDS else f"{value:,}"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _sentence(words: str) -> str:
    """Return recorded words as one line: a second one could be a heading."""
    return recorded_words(" ".join(words.split()))


def _plain(words: str) -> str:
    """Return recorded words as one line that Markdown leaves as it is."""
    return _sentence(words).replace("|", "\\|").replace("<", "&lt;").replace("`", "'")


PATH = "(a path)"
ADDRESS = "(an address)"
USER = "(a user)"
ACCOUNT = "ACCOUNT"
"""Is in the middle of a model's name, and stays the same when it is read again."""

_API = re.compile(r"(?<![\w.])/(api|v1|proc)/")
_PATHS = re.compile(
    r"(?:file://\S+)|(?<![\w./<])(?:~[\w.-]*|[A-Za-z]:)?(?:[\\/][\w.@+%,=~-]+(?: [\w.@+%,=~-]+(?=[\\/]))*){1,}[\\/]?"
    r"|(?<![\w])[A-Za-z]:[\\/]\S*|(?<![\w.])~[\\/]\S*|\\\\[\w.-]+\\\S+"
)
_ACCOUNTS = re.compile(r"(?i)\b((?:hf\.co|huggingface\.co|modelscope\.(?:cn|ai))/)[\w.-]+(?=/)")
_ADDRESSES = re.compile(r"[\w.+-]+@[\w.-]+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|https?://\S+")


def without_places(text: str) -> str:
    """Return the text without absolute paths and addresses; an API's `/api/ps` becomes `api/ps`."""
    return _PATHS.sub(PATH, _ADDRESSES.sub(ADDRESS, _API.sub(r"\1/", text)))


def recorded_words(text: str) -> str:
    """Return words that came out of a recording without places, the account a model was fetched from, and the name of this system's user."""
    found = _ACCOUNTS.sub(rf"\1{ACCOUNT}", without_places(text))
    for name in _users():
        found = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", USER, found, flags=re.IGNORECASE)
    return found


def _users() -> set[str]:
    names = {Path.home().name}
    # a system may have no name for its user
    with suppress(OSError, KeyError):
        names.add(getpass.getuser())
    return {name for name in names if len(name) > 1}
