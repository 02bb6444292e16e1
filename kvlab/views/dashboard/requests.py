"""Requests as a dataset has them: what is known of each so far, and when `texts` is set its text, whole and token by token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from kvlab import events as ev
from kvlab.lab.source import Source
from kvlab.recording import Recording
from kvlab.recording.readings import PREDICTED
from kvlab.recording.replay import prompt_tokens

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


Row = tuple[int, int, int, list[str]]

SHOWN, HIDDEN, NOT_STORED, NO_TOKENS = "shown", "hidden", "not_stored", "no_tokens"
"""Whether a page can search by the text of tokens: it can; texts are not shown; none were stored; they were, but not token by token."""


class Texts:
    """Texts as events come.

    Attributes:
        pieces: (seq, request, text): a prompt, or a piece of a reply.
        tokens: (seq, request, start, texts): the texts of a request's tokens from index `start` on.
    """

    def __init__(self) -> None:
        self.pieces: list[tuple[int, int, str]] = []
        self.tokens: list[Row] = []
        self._prompt = 0

    def take(self, event: ev.Event) -> None:
        """Take the next event."""
        if isinstance(event, ev.RequestBegan):
            self._prompt = event.tokens
            if event.text:
                self.pieces.append((event.seq, event.request, event.text))
            if known := prompt_tokens(event):
                self.tokens.append((event.seq, event.request, 0, [text for _, text in known]))
        elif isinstance(event, ev.TokenOut) and event.text:
            self.pieces.append((event.seq, event.request, event.text))
            if event.token is not None:
                self.tokens.append((event.seq, event.request, self._prompt + event.index, [event.text]))


def of_present(on: Source) -> Iterator[Row]:
    """Yield the texts of the tokens on the edge of each node that is there now, as the model's tokenizer reads them; node n has the request -1 - n."""
    for node in on.cache.trie.walk():
        # of a pair of neighbours (a look-ahead of 1) the first is the position's own
        tokens = np.frombuffer(node.edge, dtype=np.int32).reshape(node.tokens, -1)[:, 0] if node.tokens else ()
        # what represents an image has the top bit set, and no text
        if len(tokens) and min(tokens) >= 0:
            yield 0, -1 - node.id, node.start, [text for _, text in on.with_texts([int(token) for token in tokens])]


def of_recording(recording: Recording, *, texts: bool) -> str:
    """Return whether a page that shows `texts` of a recording can search by the text of tokens, in the words above."""
    if not recording.manifest.stored_text:
        return NOT_STORED
    if not texts:
        return HIDDEN
    began = (event for event in recording.replay(ev.RequestBegan, texts=True) if isinstance(event, ev.RequestBegan))
    first = next((event for event in began if event.prompt_tokens), None)
    # the twin's tokens have no text
    return SHOWN if first is not None and any(text for _, text in prompt_tokens(first)) else NO_TOKENS
