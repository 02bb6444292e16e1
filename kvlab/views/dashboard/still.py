"""One moment of the dashboard without a browser, as a picture and as text: what a stored notebook keeps.

The text says what happened, who holds how many bytes, the trie, the snapshots and the request under way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from kvlab.display import Rich
from kvlab.events import Matched, RequestClosed
from kvlab.recording import Recording
from kvlab.units import binary
from kvlab.views import static, theme
from kvlab.views.bytes_chart import bytes_chart
from kvlab.views.spans_chart import spans_chart, spans_text
from kvlab.views.tables import last_bytes, readings
from kvlab.views.trie_outline import moment_chart, outline_text
from kvlab.views.waterfall_chart import waterfall_chart

OWNERS = ("counted", "budget", "snapshots", "live", "unattributed", "pool", "active")


def text(recording: Recording, at: int, sentence: str) -> str:
    """Return the moment right after event `at` as text; `sentence` says what happened."""
    if not recording.count:
        return "dashboard: nothing has happened yet"
    moment = recording.at(at)
    place = f"at event {at} of {recording.last}, request {moment.request}" if at >= 0 else "before the run: what the cache holds"
    parts = [
        f"dashboard {place}",
        f"  {sentence}",
        "  bytes: " + (", ".join(f"{name} {binary(moment.bytes[name])}" for name in OWNERS) + _footprint(recording, at) if moment.bytes else "none were read"),
        "  " + request_line(recording, moment.request, at),
        "",
        outline_text(moment),
        "",
        spans_text(moment, recording.manifest.shape),
    ]
    return "\n".join(parts)


def _footprint(recording: Recording, at: int) -> str:
    """Return the last footprint of the process that was read up to a moment, in words; "" before the first."""
    last = last_bytes(readings(recording).filter(pl.col("seq") <= at), "footprint")
    return f", footprint of the process {binary(last)}" if last else ""


def request_line(recording: Recording, request: int, at: int) -> str:
    """Return what is known of a request at a moment: how its prompt divides, and why."""
    if request < 1:
        return "request: none is under way"
    past = [event for event in recording.replay(Matched, RequestClosed) if event.request == request and event.seq <= at]
    words = f"request {request}: not matched yet"
    for event in past:
        if isinstance(event, Matched):
            words = f"request {request}: {event.tokens} tokens, matched {event.matched}, cached {event.cached}, left {event.left} ({event.reason})"
        elif isinstance(event, RequestClosed):
            words += f"; {event.generated} generated, " + ("cancelled" if event.stop == "cancelled" else f"stopped by {event.stop}")
    return words


SCALE = 1


@dataclass(frozen=True, slots=True, eq=False)
class Still(Rich):
    """One moment of a recording.

    Attributes:
        recording: What is shown.
        at: The event after which it is shown.
        words: The moment as text.
    """

    recording: Recording
    at: int
    words: str

    def bundle(self) -> dict[str, Any]:
        """Return {mime type: data}: text, and a picture where there is something to draw."""
        made: dict[str, Any] = {"text/plain": self.words}
        if self.recording.count:
            made["image/png"] = static.png(chart(self.recording, self.at), SCALE)
        return made

    def __repr__(self) -> str:
        return self.words


def chart(recording: Recording, at: int) -> alt.VConcatChart:
    """Return bytes, trie, spans and requests at a moment as one chart."""
    read = readings(recording).get_column("seq")
    place = int(read.search_sorted(at, side="right")) - 1
    shown = alt.param(name="reading", value=int(read[place]) if place >= 0 else -1)
    moment = recording.at(at)
    parts = [bytes_chart(recording, shown), moment_chart(moment), spans_chart(recording, alt.param(name="then", value=at)), waterfall_chart(recording, at)]
    own = dict.fromkeys(("color", "fill", "stroke", "strokeDash", "shape"), "independent")
    made: Any = alt.vconcat(*parts, spacing=22)
    drawn: alt.VConcatChart = made.resolve_scale(**own)
    return drawn.properties(description=f"{theme.NAME} dashboard at event {at}: bytes by owner, the trie, snapshots by layer, requests")
