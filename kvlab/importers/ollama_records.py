"""What each record of an Ollama log means, as rows: a method an `event` of `formats/ollama-log.toml`, with the record's fields and constants in that order.

Those of requests are methods of `ollama_requests.Requests`. A method returns False when the figures contradict each other. What is not known of a field is
None. A text that is kept is cut at `MOST_LETTERS` and names no home folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from kvlab.cache.paging import FREE_ALL
from kvlab.importers.figures import read_duration, size
from kvlab.importers.ollama_requests import Requests
from kvlab.importers.ollama_runners import Runners
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock
from kvlab.importers.trie_dumps import DumpReader, Labels, row_of

MOST_LETTERS = 300

_HOME = re.compile(r"(?:/Users/|/home/|[A-Z]:\\Users\\)[^/\\\s\"':]+")
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
        self._labels = Labels()

    def reader(self, event: str) -> Callable[..., bool | None] | None:
        """Return what writes records of an event; None when they have no figures that a table takes."""
        return getattr(self, event, None) or getattr(self.requests, event, None)

    def other(self, line: str, at: int) -> str:
        """Write a warning if the level of a record without figures is WARN or ERROR; return its message, which begins at `at`."""
        head, found = line[:at], _MESSAGE.match(line, at)
        message = words(found[1] or found[2]) if found is not None else ""
        if found is not None and ("level=WARN" in head or "level=ERROR" in head):
            error = _ERROR.search(line, at)
            add = self.requests.around if "cache.go" in head else self.rows.add
            add("warned", message + (f": {words(error[1])}" if error else ""))
        return message or "no message"

    def forward(self, active: str, pool: str, peak: str, phase: str) -> None:
        """The allocator's bytes after a forward."""
        self.requests.inside("bytes_read", phase, None, None, size(pool), size(active), size(peak), None)

    def captured(self, offset: str) -> None:
        """A snapshot was created."""
        self.requests.inside("captured", int(offset))

    def paged(self, start: str, end: str, kind: str) -> None:
        """Snapshots were restored, or stored."""
        self.requests.around(kind, None, int(start), int(end))

    def refused(self, offset: str) -> None:
        """A restore was refused: all layers were freed."""
        self.requests.around("warned", f"{FREE_ALL} (offset {int(offset)})")

    def evicted(self, start: str, tokens: str, freed: str | None, bare: str | None, state: str) -> None:
        """A node was evicted."""
        self.requests.around("evicted", None, int(start), int(start) + int(tokens), state, size(freed or bare or ""))

    def dump_began(self, label: str) -> bool | None:
        """The root of a dump."""
        root = row_of(f'{label}"')
        if root is None:
            return False
        self.dump = DumpReader((0, *root[1:]))
        return None

    def nodes(self, lines: Sequence[str], place: int, at: int) -> int:
        """Take the nodes of the dump whose labels begin at `at` of the lines from `place` on; return how many there are."""
        # an open quote says that the rest is in the next line
        return 0 if self.dump is None else self._labels.take(self.dump, lines, place, at)

    def end_dump(self) -> None:
        """The dump that is being read has ended: write what changed."""
        dump, self.dump = self.dump, None
        if dump is not None:
            # whether the root is among the nodes held is not the same in all releases
            count, held = len(dump.rows), self.requests.nodes_held
            whole = not (dump.broken or dump.left_out) and held in (None, count, count - 1)
            if not whole:
                self.rows.add("warned", f"a trie dump lists {count} of {held or count + dump.left_out + dump.broken} nodes")
            self.requests.settle()
            self.runners.dumped(dump, whole=whole, matched=self.requests.reached)
            self.requests.nodes_held = None

    def peaked_and_held(self, peak: str, held: str | None) -> bool | None:
        """A request has ended, as later releases print it: its peak, and what the runner still holds."""
        if held and size(peak) is not None:
            self.requests.inside("observed", "held", "", size(held), None, None, "GiB", 2**30 // 100, None, "")
        return self.requests.peaked(peak)

    def wired(self, active: str) -> None:
        """The bytes of the weights once loaded."""
        self.rows.add("loaded", size(active), size(active), None)

    def on_port(self, model: str | None, port: str, state: str) -> None:
        """A runner's process is started, or answers on its port."""
        self.runners.changed(state, port=int(port), model=_model_name(model or ""))

    def stopping(self, pid: str) -> None:
        """A runner's process is ended."""
        self.runners.changed("stopping", pid=int(pid))

    def scheduled(self, name: str, bytes_: str | None, pid: str | None, state: str) -> None:
        """A model is in place, a runner waits, its time is over."""
        model, number = _model_name(name), int(pid) if pid else None
        self.runners.changed(state, model=model, pid=number)
        if state in ("loaded", "failed") and (count := size(bytes_ or "")) is not None:
            self.rows.add("observed", "size", model, count, None, None, "GiB", 2**30 // 10, number, "")

    def system(self, *sizes: str) -> None:
        """The system's bytes as the server sees them."""
        for gauge, text in zip(("system_total", "system_free", "swap_free"), sizes, strict=True):
            self.rows.add("observed", gauge, "", size(text), None, None, "GiB", 2**30 // 10, None, "")

    def config(self, text: str) -> None:
        """The server's settings; those that hold addresses and paths are left out."""
        for name, value in _SETTING.findall(text):
            if not _PRIVATE.search(name) or name.endswith("LOADED_MODELS"):
                self.rows.add("observed", "setting", name, None, None, words(value)[:120], "", None, None, "")

    def listening(self, text: str) -> None:
        """The server begins, and names its version."""
        found = _VERSION.search(text)
        self.requests.ended()
        self.runners.all_gone()
        if found is not None:
            self.version = self.version or found[1]

    def served(self, status: str, took: str, method: str, call: str) -> bool | None:
        """A call from outside was answered."""
        seconds = read_duration(took)
        if seconds is not None and method not in ("GET", "HEAD"):
            self.rows.add_to(0, "served", (f"{method} {_path(call)}", int(status), seconds))
        return None if seconds is not None else False


def words(text: str) -> str:
    """Return a text to show: cut, with home folders as `~` and Go's quoting undone."""
    shown = text[: 4 * MOST_LETTERS].replace('\\"', '"').replace("\\n", " ").replace("\\t", " ")
    if not shown.isprintable():
        shown = "".join(letter if letter.isprintable() else " " for letter in shown)
    shown = _HOME.sub("~", shown)
    return shown if len(shown) <= MOST_LETTERS else shown[:MOST_LETTERS] + "…"


@lru_cache(maxsize=4096)
def _path(text: str) -> str:
    """Return the path of a call, without its query."""
    return words(text).partition("?")[0]


def _model_name(text: str) -> str:
    """Return a model's name without the registry it came from."""
    return words(text).rpartition("/")[2]
