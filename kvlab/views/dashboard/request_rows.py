"""Rows of requests: what is known of each so far, changed as its events come."""

from __future__ import annotations

from typing import Any

from kvlab import events as ev
from kvlab.recording.readings import PREDICTED

REQUEST = (
    "request",
    "label",
    "tokens",
    "limit",
    "matched",
    "cached",
    "left",
    "reason",
    "layer",
    "generated",
    "stop",
    "ttft_s",
    "prefill_s",
    "decode_s",
    "peak",
)
TIMES = ("began", "matched_at", "closed")
"""Places in time (seq) of a request; `times` with them are seconds at which its phases ended."""


class RequestRows:
    """A row a request, and which of them changed since they were last handed over.

    Attributes:
        rows: By request.
        touched: The requests that changed.
    """

    def __init__(self) -> None:
        self.rows: dict[int, dict[str, Any]] = {}
        self.touched: set[int] = set()

    def take(self, event: ev.Event) -> None:
        """Take the next event."""
        if isinstance(event, ev.RequestBegan):
            self._changed(event, "began").update(label=event.label, tokens=event.tokens, limit=event.limit, began=event.seq)
        elif isinstance(event, ev.Matched):
            known = {name: getattr(event, name) for name in ("tokens", "matched", "cached", "left", "reason", "layer")}
            self._changed(event).update(known, matched_at=event.seq)
        elif isinstance(event, ev.TokenOut):
            row = self._changed(event)
            row["generated"] = event.index + 1
            if not event.index:
                row["times"]["first_token"] = round(event.t, 6)
        elif isinstance(event, ev.RequestClosed):
            seconds = {name: round(getattr(event, name), 6) for name in ("ttft_s", "prefill_s", "decode_s")}
            self._changed(event, "closed").update(seconds, generated=event.generated, stop=event.stop, peak=event.peak, closed=event.seq)
        elif isinstance(event, ev.BytesRead) and event.request and event.source != PREDICTED:
            self._changed(event, event.phase)

    def changed(self) -> list[dict[str, Any]]:
        """Return the rows that changed since the last call."""
        rows = [self.rows[request] for request in sorted(self.touched)]
        self.touched = set()
        return rows

    def _changed(self, event: ev.Event, time: str = "") -> dict[str, Any]:
        request = event.request
        if request not in self.rows:
            empty: dict[str, Any] = dict.fromkeys((*REQUEST, *TIMES), -1) | {"label": "", "reason": "", "layer": "", "stop": "", "times": {}}
            self.rows[request] = empty | {"request": request, "began": event.seq}
        self.touched.add(request)
        if time:
            self.rows[request]["times"][time] = round(event.t, 6)
        return self.rows[request]
