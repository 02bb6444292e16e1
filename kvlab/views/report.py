"""A recording as one HTML file that needs nothing else: no network, no kernel, no kvlab.

Invariants: below 3 MB; the drawing library is in it once, for all charts; its own security policy forbids every request;
each chart has a PNG for readers without scripts and a text twin for readers who cannot see it.
"""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from kvlab.diagnose import Findings
from kvlab.errors import BadValue, UnreadableInput
from kvlab.recording import Recording
from kvlab.recording.place import is_recording
from kvlab.views import bytes_chart, bytes_text, report_parts, spans_chart, static, theme, trie_outline
from kvlab.views.tables import last_moment, moment_words


def write_report(recording: Recording, path: str | Path, findings: Findings | None = None) -> Path:
    """Write the report of a recording to `path` and return it, absolute.

    Raises:
        BadValue: a recording stands there.
        UnreadableInput: the file cannot be written.
    """
    out = Path(path).expanduser().absolute()
    if is_recording(out):
        raise BadValue(
            what=f"the report cannot be written to {str(out)!r}",
            why="a recording stands there and would be lost",
            hint="choose another name, such as report.html",
        )
    page = report_html(recording, findings)
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise UnreadableInput(
            what=f"the report {out.name} cannot be written",
            why=f"{error.strerror or error}: {out.parent}",
            hint="name a file in a folder that exists and that you may write to",
        ) from error
    return out


def report_html(recording: Recording, findings: Findings | None = None) -> str:
    """Return the report as text of HTML."""
    at = last_moment(recording)
    trie, stops = trie_outline.outline_in_time(recording, at)
    drawn: dict[str, Any] = {
        "bytes": bytes_chart.bytes_chart(recording, at),
        "trie": trie,
        "spans": spans_chart.spans_chart(recording, at),
    }
    specs = {name: theme.spec(chart) for name, chart in drawn.items()}
    places = {
        name: report_parts.chart_part(name, specs[name]["description"], static.png(drawn[name], scale=1), text) for name, text in _texts(recording).items()
    }
    body = [
        report_parts.card_part(recording, findings),
        report_parts.findings_part(findings),
        "<h2>Bytes by owner</h2>",
        places["bytes"],
        '<h2>The trie and its snapshots</h2><p class="quiet">The slider, or a click on the chart above, chooses the moment that all charts show.</p>',
        report_parts.slider_part(max(0, stops.height - 1)),
        places["trie"],
        places["spans"],
        report_parts.requests_part(recording),
        report_parts.manifest_part(recording),
    ]
    data = {
        "specs": specs,
        "moments": [{"seq": seq, "x": x, "words": words} for seq, x, words in zip(stops["seq"], stops["x"], moment_words(stops), strict=True)],
    }
    manifest = recording.manifest
    return Template(_page("report.html")).substitute(
        title=escape(f"kvlab: {manifest.model}, {manifest.workload or 'no workload'}"),
        css=_page("report.css"),
        body="\n".join(body),
        data=_as_json(data),
        bundle=static.bundle(),
        script=_page("report.js"),
    )


def _texts(recording: Recording) -> dict[str, str]:
    texts = {"bytes": bytes_text.bytes_text(recording), "trie": "no events", "spans": "no events"}
    if recording.events.height:
        end = recording.at(int(recording.events.item(-1, "seq")))
        texts |= {"trie": trie_outline.outline_text(end), "spans": spans_chart.spans_text(end, recording.manifest.shape)}
    return texts


def _page(name: str) -> str:
    return (files("kvlab.views") / "page" / name).read_text(encoding="utf-8")


def _as_json(data: Any) -> str:
    # inside a script element the only dangerous character is the one that opens a tag
    return json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
