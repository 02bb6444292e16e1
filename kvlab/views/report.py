"""A recording as one HTML file that needs nothing else: no network, no kernel, no kvlab.

It holds the dashboard with its dataset: the same page as in a notebook, with nothing behind it.
Invariants: below 3 MB, also for runs of thousands of requests, which are thinned and say so; its own security policy forbids every
request; each view has a PNG for readers without scripts and a text twin for readers who cannot see it; prompts and answers are in it
only when they were stored.
"""

from __future__ import annotations

import base64
import gzip
import json
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import altair as alt

from kvlab.errors import require_path
from kvlab.findings import Findings
from kvlab.findings.checklist import Checklist
from kvlab.output_file import FileKind, headed, replacing, require_replaceable
from kvlab.recording import Recording
from kvlab.recording.place import require_outside
from kvlab.views import bytes_chart, card, report_parts, spans_chart, static, theme, trie_outline, waterfall_chart
from kvlab.views.dashboard import page
from kvlab.views.dashboard.dataset import dataset_of
from kvlab.views.markdown_block import LAST_LINE
from kvlab.views.report_parts import checklist_part
from kvlab.views.thinned import thinned

HTML = headed("a report", lambda head: b"default-src 'none'; script-src 'unsafe-inline'" in head and b"<title>kvlab: " in head)
MARKDOWN = FileKind("a Markdown report", lambda path: path.read_bytes().endswith(f"{LAST_LINE}\n".encode()))


def write_text(text: str, path: str | Path, kind: FileKind, *, force: bool = False) -> Path:
    """Write `text` to `path` and return it, absolute.

    Raises:
        BadValue: a recording's folder is around it, or a file is there that is not of that kind and it is not forced.
        UnreadableInput: the file cannot be written; then what is there is as it was.
    """
    out = require_path(path)
    require_outside(out)
    with replacing(out, kind, force=force) as file:
        file.write(text.encode("utf-8"))
    return out


EVENTS = 25_000
"""A run of more events can be stopped at where it matters only, so that the file stays small."""

PACKED = 500_000
"""A dataset of more letters lies packed in the file (gzip, which browsers unpack)."""

TITLES = {"bytes": "Bytes by owner", "trie": "The trie", "spans": "Snapshots by layer", "requests": "Requests in time"}


def write_report(recording: Recording, path: str | Path, findings: Findings | None = None, checklist: Checklist | None = None, *, force: bool = False) -> Path:
    """Write the report of a recording to `path` and return it, absolute; with its checklist when one is given.

    Raises:
        BadValue: a file is there that is no such report, and it is not forced.
        UnreadableInput: the file cannot be written; then what is there is as it was.
    """
    require_replaceable(path, HTML, force=force)
    return write_text(report_html(recording, findings, checklist), path, HTML, force=force)


def _picture(chart: alt.TopLevelMixin) -> bytes:
    """Return a chart as a PNG; empty when figures that no run has cannot be drawn: the page, the text and the description hold them all the same."""
    try:
        return static.png(chart, scale=1)
    except ValueError:
        return b""


def report_html(recording: Recording, findings: Findings | None = None, checklist: Checklist | None = None) -> str:
    """Return the report as text of HTML."""
    dataset = thinned(dataset_of(recording, most=EVENTS).whole())
    data = _as_json(dataset.data)
    fewer = f" {dataset.words}" if dataset.words else ""
    drawn: dict[str, alt.TopLevelMixin] = {
        "bytes": bytes_chart.bytes_chart(recording),
        "trie": trie_outline.outline_chart(recording),
        "spans": spans_chart.spans_chart(recording),
        "requests": waterfall_chart.waterfall_chart(recording),
    }
    places = [
        report_parts.chart_part(TITLES[name], theme.spec(chart)["description"], _picture(chart), text)
        for (name, chart), text in zip(drawn.items(), _texts(recording), strict=True)
    ]
    body = [
        report_parts.card_part(recording, findings),
        report_parts.findings_part(findings),
        checklist_part(checklist),
        "<h2>Step through it</h2>",
        f'<p class="quiet">The slider, a click on the bytes, or the keys named below move the moment that everything shows.{escape(fewer)}</p>',
        '<div id="kvlab"></div>',
        '<h2>The same as pictures and text</h2><p class="quiet">As it is at the end.</p>',
        *places,
        report_parts.requests_part(recording),
        report_parts.manifest_part(recording),
        report_parts.again_part(recording),
    ]
    manifest = recording.manifest
    return Template(page.read("report.html")).substitute(
        title=escape(f"kvlab: {manifest.model}, {manifest.workload or 'no workload'}"),
        css=page.read("report.css") + page.style(),
        body="\n".join(body),
        data=_packed(data) if len(data) > PACKED else data,
        packing="gzip" if len(data) > PACKED else "",
        script=page.parts() + page.read("report.js"),
    )


def _texts(recording: Recording) -> list[str]:
    texts = [card.bytes_text(recording), "no events", "no events", waterfall_chart.waterfall_text(recording)]
    if recording.count:
        end = recording.at(recording.last)
        texts[1:3] = [trie_outline.outline_text(end), spans_chart.spans_text(end, recording.manifest.shape)]
    return texts


def _packed(data: str) -> str:
    # the time is left out: the same recording makes the same file
    return base64.b64encode(gzip.compress(data.encode(), mtime=0)).decode()


def _as_json(data: Any) -> str:
    # inside a script element the only dangerous character is the one that opens a tag
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
