"""Drafts: when a draft head's layers are written (`mtp.go`, `mtpDraftSession`, v0.32.1 to main).

Slot S of a draft layer pairs position S with the token after it, so it can be written one token after the target layers wrote theirs.
Pairs wait until there are 256 (an eighth of a chunk), or until they are settled: before captures are attached, and at the request's end.

Eager captures (v0.30.7, which keeps no draft layers) take all layers where they rest, so draft layers are written at once there.

Invariant: between requests draft layers rest where the target layers do, except after a cancelled prefill under `settle_draft=False`,
and after a request without a reply under `draft_keys=single`.
"""

from __future__ import annotations

from kvlab.cache import Cache, Session
from kvlab.layers import Layer
from kvlab.runner.model import Model

FLUSHES_PER_CHUNK = 8
"""Pairs are written at the latest when a chunk's tokens divided by this wait: 256 of 2048."""


class Drafts:
    """What one request writes to its model's draft layers; nothing when there are none."""

    __slots__ = ("_at_once", "_late", "_layers", "_model", "_most", "_session", "_targets", "_waiting", "_written")

    def __init__(self, cache: Cache, session: Session, model: Model) -> None:
        self._layers = [layer for layer in cache.layers if layer.kind == "draft_kv"]
        self._targets = cache.targets
        self._at_once = cache.policy.snapshots == "eager"
        self._late = cache.policy.draft_keys == "single"
        self._session = session
        self._model = model
        self._most = max(1, cache.policy.prefill_chunk // FLUSHES_PER_CHUNK)
        self._written = session.cached
        self._waiting = 0

    def follow(self, *, singly: bool = False) -> None:
        """Record that a forward wrote the target layers, or with `singly` as many forwards of one token: all pairs but the last are complete."""
        if self._at_once:
            self.settle()
        elif self._layers:
            self._wait_for(_offset(self._targets) - 1, self._most if singly else None)

    def keep_level(self) -> None:
        """Write all pairs that a forward left, where captures take all layers as they rest."""
        if self._at_once:
            self.settle()

    def settle(self, *, at_end: bool = True) -> None:
        """Write all pairs, the last one with the token that follows; v0.30.11 to v0.32.0 did so at a reply's end only."""
        if self._layers:
            if at_end or not self._late:
                self._wait_for(_offset(self._targets))
            self.flush()

    def flush(self, first: int | None = None) -> None:
        """Write the pairs that are complete; upstream's runner writes the first `first` at once when that differs."""
        # after an interrupted forward the layers may rest before what was waiting
        tokens = min(self._waiting, _offset(self._targets) - self._written) if self._layers else 0
        if tokens > 0 and _offset(self._layers) == self._written:
            with self._session.writing(tokens, first, layers=self._layers):
                self._model.draft(tokens)
            self._written += tokens
            self._session.capture()
        self._waiting = 0

    def _wait_for(self, end: int, first: int | None = None) -> None:
        self._waiting = max(self._waiting, end - self._written)
        if self._waiting >= self._most:
            self.flush(first)


def _offset(layers: list[Layer]) -> int:
    return min(layer.offset for layer in layers)
