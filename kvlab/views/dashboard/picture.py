"""The dashboard's still twin: the same moment as a picture drawn without a browser, and as text. It is what a stored notebook keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import altair as alt

from kvlab.display import Rich
from kvlab.recording import Recording
from kvlab.views import static, theme
from kvlab.views.bytes_chart import bytes_chart
from kvlab.views.spans_chart import spans_chart
from kvlab.views.tables import readings
from kvlab.views.trie_outline import moment_chart
from kvlab.views.waterfall_chart import waterfall_chart

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
