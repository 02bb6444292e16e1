"""The parts of a report as HTML fragments. Invariant: every text that came from a recording is escaped here."""

from __future__ import annotations

import base64
import shlex
from collections.abc import Iterable, Mapping
from html import escape
from typing import Any

import polars as pl

from kvlab.findings import Finding, Findings
from kvlab.findings.checklist import DECISIONS, Checklist
from kvlab.policy import Policy, choice_words
from kvlab.recording import Recording
from kvlab.recording.fold_requests import SECONDS
from kvlab.recording.policy_words import policy_words
from kvlab.units import MIB, binary
from kvlab.views.card import summary, verdict_words
from kvlab.views.finding_cards import known_figures
from kvlab.views.text_table import many

ROWS = 1000
"""The table of requests shows at most this many rows: the first and the last ones."""

WORDS = ("label", "reason", "limiting_layer", "stop")
BYTES = ("counted", "predicted_counted", "snapshots", "live", "unattributed", "pool", "active", "peak")
COLUMNS = ("request", "label", "tokens", "matched", "cached", "left", "evaluated", "reason", "limiting_layer", "generated", "stop", "nodes", *BYTES, *SECONDS)


def definitions(lines: Iterable[tuple[str, str]]) -> str:
    """Return (name, words) pairs as a definition list."""
    return "<dl>" + "".join(f"<dt>{escape(name)}</dt><dd>{escape(words)}</dd>" for name, words in lines) + "</dl>"


def card_part(recording: Recording, findings: Findings | None) -> str:
    """Return the summary card."""
    words = verdict_words(findings)
    return "<h2>Summary</h2>" + definitions([*summary(recording), *([("verdict", words)] if words else [])])


def findings_part(findings: Findings | None) -> str:
    """Return one article a finding; "" when there are none."""
    if findings is None or not findings.findings:
        return ""
    return "<h2>Findings</h2>" + "".join(_finding(finding, unfolded=place == 0) for place, finding in enumerate(findings.findings))


def _finding(finding: Finding, *, unfolded: bool) -> str:
    known = known_figures(finding)
    numbers = f"<details{' open' if unfolded else ''}><summary>Its {many(len(known), 'figure')}</summary>{definitions(known)}</details>" if known else ""
    quiet = ' class="open"' if finding.verdict == "not_enough_data" else ""
    refuted = f'<p class="quiet">Refuted by: {escape(finding.refuted_by)}</p>' if finding.refuted_by else ""
    return (
        f"<article{quiet}><h3>{escape(finding.question)}</h3>"
        f'<p><span class="verdict">{escape(finding.verdict)}</span> (confidence {escape(finding.confidence)}): {escape(finding.summary)}</p>'
        f"{numbers}{refuted}</article>"
    )


def chart_part(title: str, description: str, image: bytes, text: str) -> str:
    """Return a view's still twins: its PNG with its description, and its text."""
    data = base64.b64encode(image).decode()
    return (
        f'<details class="still"><summary>{escape(title)}</summary>'
        f'<img src="data:image/png;base64,{data}" alt="{escape(description)}"><pre>{escape(text)}</pre></details>'
    )


def again_part(recording: Recording) -> str:
    """Return how to make this recording again: the command, and the same in Python."""
    manifest = recording.manifest
    if not manifest.workload or not manifest.policy:
        return ""
    choices = {name: value for name, value in manifest.policy.items() if value != Policy().to_dict().get(name)}
    sets = "".join(f" --set {shlex.quote(f'{name}={choice_words(value)}')}" for name, value in choices.items())
    twin = manifest.source == "twin"
    model = f" --{'shape' if twin else 'model'} {shlex.quote(manifest.model)}"
    command = f"kvlab {'twin' if twin else 'run'} {shlex.quote(manifest.workload)}{model}{sets} --out again.kvrec"
    python = (
        f"import kvlab\nlab = kvlab.{'twin' if twin else 'open'}({manifest.model!r})\n"
        f"recording = lab.run({manifest.workload!r}, policy=kvlab.Policy.from_dict({choices!r}))"
    )
    return (
        '<h2>Make it again</h2><p class="quiet">With the versions above. A workload from a file needs that file, a model from a folder that folder.</p>'
        f'<pre class="command">{escape(command)}</pre><pre class="command">{escape(python)}</pre>'
    )


def requests_part(recording: Recording) -> str:
    """Return the table of requests, bytes in MiB; with the answers when they were stored."""
    table = recording.requests
    note = many(table.height, "request")
    if table.height > ROWS:
        note += f"; the first and the last {ROWS // 2} are shown"
        table = pl.concat([table.head(ROWS // 2), table.tail(ROWS // 2)])
    seconds = "seconds in s" if recording.has_seconds else "no seconds: a twin has none"
    names = [*COLUMNS, *(["text"] if table.get_column("text").null_count() < table.height else [])]
    head = "".join(f'<th scope="col"{_flush(name)}>{escape(_title(name))}</th>' for name in names)
    body = "".join(
        "<tr>" + "".join(f"<td{_flush(name)}>{escape(_cell(name, row[name]))}</td>" for name in names) + "</tr>" for row in table.iter_rows(named=True)
    )
    return (
        f'<h2>Requests</h2><p class="quiet">{note}. Bytes in MiB as read at each request\'s end, {seconds}.</p>'
        f'<div class="scroll" tabindex="0" role="region" aria-label="Requests"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'
        + _warnings(table)
    )


def manifest_part(recording: Recording) -> str:
    """Return where the recording came from: policy, versions, model, machine."""
    manifest = recording.manifest
    lines = [
        ("policy", policy_words(manifest.policy)),
        ("source", manifest.source),
        ("workload", manifest.workload),
        ("seed", "" if manifest.seed is None else str(manifest.seed)),
        (
            "versions",
            ", ".join(f"{name} {version}" for name, version in (("kvlab", manifest.kvlab), ("mlx", manifest.mlx), ("mlx-lm", manifest.mlx_lm)) if version),
        ),
        ("schema", str(manifest.schema)),
        ("model", _pairs({"name": manifest.model} | manifest.origin)),
        ("machine", _pairs({name: binary(value) if name.endswith("_bytes") and value else value for name, value in manifest.machine.items()})),
        ("text stored", "yes" if manifest.stored_text else "no"),
        ("created", manifest.created),
    ]
    return "<h2>What made this recording</h2>" + definitions((name, words) for name, words in lines if words)


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}: {value}" for name, value in values.items() if value not in (None, ""))


def _warnings(table: pl.DataFrame) -> str:
    warnings = table.select("request", "warnings").explode("warnings").drop_nulls()
    items = "".join(f"<li>request {request}: {escape(message)}</li>" for request, message in warnings.head(100).iter_rows())
    return f"<h2>Warnings</h2><ul>{items}</ul>" if items else ""


def _title(name: str) -> str:
    words = name.removesuffix("_s").replace("_", " ")
    return f"{words} (MiB)" if name in BYTES else f"{words} (s)" if name in SECONDS else words


def _flush(name: str) -> str:
    return ' class="answer"' if name == "text" else ' class="words"' if name in WORDS else ""


def _cell(name: str, value: Any) -> str:
    if value is None:
        return "-"
    if name in BYTES:
        return f"{value / MIB:,.2f}"
    return f"{value:.3f}" if name in SECONDS else str(value)


def checklist_part(checklist: Checklist | None) -> str:
    """Return the section; "" when there is no checklist."""
    if checklist is None:
        return ""
    rows = "".join(
        f'<tr><td>{"known" if words else "missing"}</td><td class="words">{escape(item.asks)}</td>'
        f'<td class="words">{escape(words) if words else f"<code>{escape(item.fill)}</code>"}</td></tr>'
        for item, words in checklist
    )
    count = len(checklist.missing)
    return (
        '<h2>Checklist</h2><p class="quiet">What has to be known before a server is said to give its bytes back, or not to. '
        f"{count} item{'' if count == 1 else 's'} missing; each names what fills it.</p>"
        '<div class="scroll" tabindex="0" role="region" aria-label="Checklist"><table><thead><tr><th scope="col"></th><th scope="col" class="words">item</th>'
        f'<th scope="col" class="words">what is known, or the command that fills it</th></tr></thead><tbody>{rows}</tbody></table></div>'
        f'<p><span class="verdict">{escape(DECISIONS[checklist.decision])}</span>: {escape(checklist.reason)}</p>'
    )
