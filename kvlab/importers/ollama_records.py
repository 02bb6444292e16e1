"""What each record of an Ollama log means, as rows: a method an `event` of `formats/ollama-log.toml`, with the record's fields and constants in that order.

A method returns False when the figures contradict each other. What is not known of a field is None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kvlab.cache.paging import FREE_ALL
from kvlab.importers import values
from kvlab.importers.ollama_requests import Requests
from kvlab.importers.ollama_runners import Runners
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock
from kvlab.importers.trie_dumps import DumpReader, Labels, row_of
from kvlab.importers.values import size

_MESSAGE = re.compile(r'(?:"((?:[^"\\]|\\.){1,400})|(\S{1,400}))')
_ERROR = re.compile(r'\berror="((?:[^"\\]|\\.){1,2000})')
_SETTING = re.compile(r"\b(OLLAMA_[A-Z_]{1,60}):([^\s\]]{1,120})")
_PRIVATE = re.compile("HOST|ORIGINS|MODELS|KEY|TMPDIR")
_VERSION = re.compile(r"\(version (\d{1,4}\.\d{1,4}\.\d{1,4})")


class Records:
    """Writes records as rows.

    Attributes:
        rows: Where they go.
        clock: Turns moments into seconds.
        requests: The running request.
        runners: The runners that are alive.
        version: The server's version, when the log names it.
        dump: The dump that is being read; None outside any.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clock = Clock()
        self.requests = Requests(rows)
        self.runners = Runners(rows, self.requests)
        self.version: str | None = None
        self.dump: DumpReader | None = None
        self._nodes_held: int | None = None
        self._labels = Labels()

    def other(self, line: str, at: int) -> str:
        """Write a warning if the level of a record without figures is WARN or ERROR; return its message, which begins at `at`."""
        head, found = line[:at], _MESSAGE.match(line, at)
        message = values.words(found[1] or found[2]) if found is not None else ""
        if found is not None and ("level=WARN" in head or "level=ERROR" in head):
            error = _ERROR.search(line, at)
            shown = message + (f": {values.words(error[1])}" if error else "")
            if "cache.go" in head:
                self.requests.around("warned", shown)
            else:
                self.rows.add("warned", shown)
        return message or "no message"

    def matched(self, total: int, matched: int, cached: int, left: int) -> bool:
        """A request has been matched."""
        if cached + left != total or max(matched, cached) > total:
            return False
        self.requests.began(total, matched, cached, left)
        return True

    def progressed(self, done: int, left: int) -> bool:
        """A prefill has come so far."""
        self.requests.progressed(done, left)
        return True

    def forward(self, active: str, pool: str, peak: str, phase: str) -> bool:
        """The allocator's bytes after a forward."""
        self.requests.inside("bytes_read", phase, None, None, size(pool), size(active), size(peak), None)
        return True

    def captured(self, offset: int) -> bool:
        """A snapshot was created."""
        self.requests.inside("captured", offset)
        return True

    def paged(self, start: int, end: int, kind: str) -> bool:
        """Snapshots were restored, or stored."""
        self.requests.around(kind, None, start, end)
        return True

    def refused(self, offset: int) -> bool:
        """A restore was refused: all layers were freed."""
        self.requests.around("warned", f"{FREE_ALL} (offset {offset})")
        return True

    def evicted(self, start: int, tokens: int, freed: str | None, bare: str | None, state: str) -> bool:
        """A node was evicted."""
        self.requests.around("evicted", None, start, start + tokens, state, size(freed or bare or ""))
        return True

    def held(self, tokens: int, live: str, paged_out: str, nodes: int) -> bool:
        """What the cache holds at a request's end."""
        self._nodes_held = nodes
        self.requests.held(stored=tokens, size=size(live), counted=size(paged_out), nodes=nodes)
        return True

    def allocated(self, active: str) -> bool:
        """The allocator's active bytes at a request's end."""
        self.requests.allocated(size(active))
        return True

    def dump_began(self, label: str) -> bool:
        """The root of a dump."""
        root = row_of(f'{label}"')
        if root is None:
            return False
        self.dump = DumpReader((0, *root[1:]))
        return True

    def nodes(self, lines: Sequence[str], place: int, at: int) -> int:
        """Take the nodes of the dump whose labels begin at `at` of the lines from `place` on; return how many there are."""
        # an open quote says that the rest is in the next line
        return 0 if self.dump is None else self._labels.take(self.dump, lines, place, at)

    def end_dump(self) -> None:
        """The dump that is being read has ended: write what changed."""
        dump, self.dump = self.dump, None
        if dump is not None:
            # whether the root is among the nodes held is not the same in all releases
            count, held = len(dump.rows), self._nodes_held
            whole = not (dump.broken or dump.left_out) and held in (None, count, count - 1)
            if not whole:
                self.rows.add("warned", f"a trie dump lists {count} of {held or count + dump.left_out + dump.broken} nodes")
            self.requests.settle()
            self.runners.dumped(dump, whole=whole, matched=self.requests.matched)
            self._nodes_held = None

    def peaked(self, peak: str | None, bare: str | None = None) -> bool:
        """A request has ended."""
        count = size(peak or bare or "")
        if count is not None:
            self.requests.peaked(count)
        return count is not None

    def peaked_and_held(self, peak: str, held: str | None) -> bool:
        """A request has ended, as later releases print it: its peak, and what the runner still holds."""
        if held and size(peak) is not None:
            self.requests.inside("observed", "held", "", size(held), None, None, "GiB", 2**30 // 100, None, "")
        return self.peaked(peak)

    def cancelled(self, text: str) -> bool:
        """A request was cut short."""
        del text
        self.requests.cancelled()
        return True

    def wired(self, active: str) -> bool:
        """The bytes of the weights once loaded."""
        self.rows.add("loaded", size(active), size(active), None)
        return True

    def on_port(self, model: str | None, port: int, state: str) -> bool:
        """A runner's process is started, or answers on its port."""
        self.runners.changed(state, port=port, model=values.model_name(model or ""))
        return True

    def stopping(self, pid: int) -> bool:
        """A runner's process is ended."""
        self.runners.changed("stopping", pid=pid)
        return True

    def scheduled(self, name: str, bytes_: str | None, pid: int | None, state: str) -> bool:
        """A model is in place, a runner waits, its time is over."""
        model = values.model_name(name)
        self.runners.changed(state, model=model, pid=pid)
        if state in ("loaded", "failed") and (count := size(bytes_ or "")) is not None:
            self.rows.add("observed", "size", model, count, None, None, "GiB", 2**30 // 10, pid, "")
        return True

    def system(self, *sizes: str) -> bool:
        """The system's bytes as the server sees them."""
        for gauge, text in zip(("system_total", "system_free", "swap_free"), sizes, strict=True):
            self.rows.add("observed", gauge, "", size(text), None, None, "GiB", 2**30 // 10, None, "")
        return True

    def config(self, text: str) -> bool:
        """The server's settings; those that hold addresses and paths are left out."""
        for name, value in _SETTING.findall(text):
            if not _PRIVATE.search(name) or name.endswith("LOADED_MODELS"):
                self.rows.add("observed", "setting", name, None, None, values.words(value)[:120], "", None, None, "")
        return True

    def listening(self, text: str) -> bool:
        """The server begins, and names its version."""
        found = _VERSION.search(text)
        self.requests.ended()
        self.runners.all_gone()
        if found is not None:
            self.version = self.version or found[1]
        return True

    def served(self, status: int, took: str, method: str, call: str) -> bool:
        """A call from outside was answered."""
        seconds = values.seconds(took)
        if seconds is not None and method not in ("GET", "HEAD"):
            self.rows.add_to(0, "served", (f"{method} {values.path(call)}", status, seconds))
        return seconds is not None
