"""A recording of ours as a log in the shape of Ollama's at level TRACE, to hold the importer against runs whose tables are known.

What Ollama's format carries: of a request tokens, matched, cached, left, generated, that it was cancelled, its peak, bytes counted, nodes and active bytes;
captures, evictions, page ins and page outs; the trie and the sum of each node's snapshots at every request's end. Sizes have two decimals of their binary
unit, times three of a second. What exists within one request only leaves no trace in the dumps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kvlab.cache.paging import FREE_ALL
from kvlab.importers.wrappings import printed
from kvlab.output_file import FileKind
from kvlab.recording import Recording
from kvlab.recording.readings import PREDICTED
from kvlab.units import binary
from tests.importers.trie_now import TrieNow

PORT = 60000
"""The port that the runner is said to listen on: runs of ours have none."""

Row = dict[str, Any]


LOG = FileKind("a log for other programs", lambda _: False)
"""A server's own log looks the same, so none is known to be ours."""


def write_ollama_log(recording: Recording, path: Path) -> Path:
    """Write a recording as a log; return where."""
    path.write_text("".join(line + "\n" for line in ollama_log_lines(recording)), encoding="utf-8", newline="\n")
    return path


def ollama_log_lines(recording: Recording) -> Iterator[str]:
    """Yield the lines of a recording as a log."""
    writer = _Writer(recording)
    yield writer.line(0.0, "INFO", "client.go", "starting mlx runner subprocess", f"model={printed(recording.manifest.model or 'unknown')} port={PORT}")
    yield writer.line(0.0, "INFO", "client.go", "mlx runner is ready", f"port={PORT}")
    for row in recording.events.iter_rows(named=True):
        yield from writer.event(row)


class _Writer:
    """Turns events into lines, one after another."""

    def __init__(self, recording: Recording) -> None:
        try:
            self._base = datetime.fromisoformat(recording.manifest.created)
        except ValueError:
            self._base = datetime(2000, 1, 1, tzinfo=UTC)
        groups: list[dict[str, Any]] = recording.manifest.shape.get("groups", [])
        self._trie = TrieNow(sum(group["kind"] != "stateless" for group in groups))
        self._cached = self._left = 0
        self._closing: Row = {}
        self._lines: dict[str, Callable[[Row], Iterator[str]]] = {
            "loaded": self._loaded,
            "matched": self._matched,
            "chunk_ran": self._chunk,
            "bytes_read": self._bytes,
            "captured": self._captured,
            "paged_in": self._paged,
            "paged_out": self._paged,
            "evicted": self._evicted,
            "warned": self._warned,
            "request_closed": self._closed,
        }

    def event(self, row: Row) -> Iterator[str]:
        """Yield the lines of one event."""
        self._trie.take(row)
        lines = self._lines.get(row["kind"])
        if lines is not None and row["source"] != PREDICTED:
            yield from lines(row)

    def line(self, t: float, level: str, source: str, message: str, figures: str = "") -> str:
        """Return one record, with figures in Ollama's way."""
        try:
            moment = self._base + timedelta(seconds=t)
        except (OverflowError, ValueError):
            moment = self._base
        stamp = moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return f"time={stamp} level={level} source={source}:1 msg={printed(message)}{' ' if figures else ''}{figures}"

    def _loaded(self, row: Row) -> Iterator[str]:
        yield self.line(
            row["t"], "DEBUG", "runner.go", "Configured MLX wired memory", f'active="{_size(row["weights"])}" limit="{_size(row["weights"])}" previous="0 B"'
        )

    def _matched(self, row: Row) -> Iterator[str]:
        self._cached, self._left = row["cached"] or 0, row["left"] or 0
        figures = " ".join(f"{name}={row[column]}" for name, column in (("total", "tokens"), ("matched", "matched"), ("cached", "cached"), ("left", "left")))
        yield self.line(row["t"], "INFO", "prefix_cache.go", "cache hit" if self._cached else "cache miss", figures)

    def _chunk(self, row: Row) -> Iterator[str]:
        if row["end"] is not None:
            yield self.line(row["t"], "INFO", "pipeline.go", "Prompt processing progress", f"processed={row['end'] - self._cached} total={self._left}")

    def _bytes(self, row: Row) -> Iterator[str]:
        if row["phase"] == "close":
            self._closing = row
        elif row["phase"] == "prefill":
            sizes = " ".join(f'memory.{name}="{_size(row[column])}"' for name, column in (("active", "active"), ("cache", "pool"), ("peak", "peak")))
            yield self.line(row["t"], "TRACE", "pipeline.go", "mlx prompt forward", sizes)

    def _captured(self, row: Row) -> Iterator[str]:
        yield self.line(row["t"], "DEBUG", "prefix_cache.go", "created snapshot", f"offset={row['end']}")

    def _paged(self, row: Row) -> Iterator[str]:
        word = "in" if row["kind"] == "paged_in" else "out"
        yield self.line(row["t"], "TRACE", "prefix_cache.go", f"page {word}: [{row['start']}, {row['end']})")

    def _evicted(self, row: Row) -> Iterator[str]:
        name = "evicting leaf" if row["state"] == "leaf" else "evicting interior node"
        figures = f'offset={row["start"]} tokens={row["end"] - row["start"]} freed="{_size(row["freed"])}"'
        yield self.line(row["t"], "DEBUG", "prefix_cache.go", name, figures)

    def _warned(self, row: Row) -> Iterator[str]:
        if str(row["message"]).startswith(FREE_ALL):
            yield self.line(row["t"], "WARN", "prefix_cache.go", FREE_ALL, "offset=0")

    def _closed(self, row: Row) -> Iterator[str]:
        if row["stop"] == "cancelled":
            yield self.line(row["t"], "INFO", "runner.go", "Request terminated", 'error="context canceled"')
        read, self._closing = self._closing, {}
        if read:
            yield self.line(row["t"], "TRACE", "array.go", f"tensors total: 0, size: {_size(read['active'])}, active: {_size(read['active'])}")
            sizes = f"active_size: {_size(read['live_logical'])}, paged_out: {_size(self._trie.counted)}"
            trie = f"trie: nodes={self._trie.nodes}, snapshots={self._trie.complete}"
            yield self.line(row["t"], "TRACE", "prefix_cache.go", f"prefix cache active_tokens: {self._trie.offset}, {sizes}, {trie}")
            for label in self._trie.lines():
                yield self.line(row["t"], "TRACE", "prefix_cache.go", label)
        yield self.line(row["t"], "INFO", "pipeline.go", "peak memory", f'size="{_size(row["peak"])}"')


def _size(count: int | None) -> str:
    return binary(count or 0)
