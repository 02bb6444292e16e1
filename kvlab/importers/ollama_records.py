"""What each record of an Ollama log tells, as rows: one method a message, found by `kvlab.importers.ollama_names.READ`.

A method takes a line and where its message begins, and returns False when attributes are missing that a wrapped paste may bring with its next line.
"""

from __future__ import annotations

from collections.abc import Sequence

from kvlab.cache.paging import FREE_ALL
from kvlab.importers import ollama_values as values
from kvlab.importers.dump_lines import DumpReader, Labels
from kvlab.importers.ollama_requests import Requests
from kvlab.importers.ollama_runners import Runners
from kvlab.importers.ollama_values import size
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock


class Records:
    """Reads records into rows.

    Attributes:
        rows: Where they go.
        clock: Turns moments into seconds.
        requests: The running request.
        runners: The runners that are alive.
        version: The server's version, when the log names it.
        contradicts: The figures of the record that was read last contradict each other; whoever counts it sets this back.
        dump: The dump that is being read; None outside any.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.clock = Clock()
        self.requests = Requests(rows)
        self.runners = Runners(rows, self.requests)
        self.version: str | None = None
        self.contradicts = False
        self.dump: DumpReader | None = None
        self._told_nodes: int | None = None
        self._labels = Labels()

    def stamp(self, line: bytes, at: int) -> None:
        """Move to the moment that a record names."""
        begin = 5 if line.startswith(b"time=") else line.find(b"time=", 0, at) + 5
        if begin >= 5:
            end = line.find(b" ", begin, begin + 48)
            self.rows.t = self.clock.read_bytes(line[begin:end])

    def warn_of(self, line: bytes, at: int) -> None:
        """Write a warning if a record's level is WARN or ERROR."""
        head = line[:at]
        if b"level=WARN" in head or b"level=ERROR" in head:
            found, error = values.NAMED.match(line, at - 4), values.ERROR.search(line, at)
            if found is not None:
                message = values.words(found[1] or found[2]) + (f": {values.words(error[1])}" if error else "")
                if b"cache.go" in head:
                    self.requests.around("warned", message)
                else:
                    self.rows.add("warned", message)

    def hit(self, line: bytes, at: int) -> bool:
        """`cache hit` and `cache miss`: a request has been matched."""
        found = values.HIT.search(line, at)
        if found is None:
            return False
        total, matched, cached, left = map(int, found.groups())
        if cached + left != total or max(matched, cached) > total:
            self.contradicts = True
        else:
            self.requests.began(total, matched, cached, left)
        return True

    def progress(self, line: bytes, at: int) -> bool:
        """`Prompt processing progress`."""
        found = values.PROGRESS.search(line, at)
        if found is not None:
            self.requests.progressed(int(found[1]), int(found[2]))
        return found is not None

    def forward(self, line: bytes, at: int) -> bool:
        """The allocator's bytes after a chunk of a prefill."""
        return self._read_memory(line, at, "prefill")

    def decode_forward(self, line: bytes, at: int) -> bool:
        """The allocator's bytes at a decode's beginning."""
        return self._read_memory(line, at, "decode")

    def _read_memory(self, line: bytes, at: int, phase: str) -> bool:
        found = values.MEMORY.search(line, at)
        if found is not None:
            active, pool, peak = map(size, found.groups())
            self.requests.inside("bytes_read", phase, None, None, pool, active, peak, None)
        return found is not None

    def created(self, line: bytes, at: int) -> bool:
        """`created snapshot`."""
        found = values.OFFSET.search(line, at)
        if found is not None:
            self.requests.inside("captured", int(found[1]))
        return found is not None

    def page_in(self, line: bytes, at: int) -> bool:
        """`page in`."""
        return self._page("paged_in", line, at)

    def page_out(self, line: bytes, at: int) -> bool:
        """`page out`."""
        return self._page("paged_out", line, at)

    def _page(self, kind: str, line: bytes, at: int) -> bool:
        found = values.PAGE.search(line, at)
        if found is not None:
            self.requests.around(kind, None, int(found[1]), int(found[2]))
        return found is not None

    def free_all(self, line: bytes, at: int) -> bool:
        """A restore that was refused: all layers were freed."""
        found = values.OFFSET.search(line, at)
        if found is not None:
            self.requests.around("warned", f"{FREE_ALL} (offset {int(found[1])})")
        return found is not None

    def evict_leaf(self, line: bytes, at: int) -> bool:
        """`evicting leaf`."""
        return self._evict("leaf", line, at)

    def evict_interior(self, line: bytes, at: int) -> bool:
        """`evicting interior node`."""
        return self._evict("interior", line, at)

    def _evict(self, state: str, line: bytes, at: int) -> bool:
        found = values.EVICTING.search(line, at)
        if found is not None:
            offset, tokens = int(found[1]), int(found[2])
            self.requests.around("evicted", None, offset, offset + tokens, state, size(found[3] or found[4]))
        return found is not None

    def totals(self, line: bytes, at: int) -> bool:
        """What the cache holds at a request's end."""
        found = values.TOTALS.search(line, at)
        if found is not None:
            self._told_nodes = int(found[4])
            self.requests.held(stored=int(found[1]), size=size(found[2]), counted=size(found[3]), nodes=self._told_nodes)
        return found is not None

    def tensors(self, line: bytes, at: int) -> bool:
        """The allocator's active bytes at a request's end."""
        found = values.TENSORS.search(line, at)
        if found is not None:
            self.requests.allocated(size(found[1]))
        return found is not None

    def dump_begins(self, line: bytes, at: int) -> bool:
        """The root of a dump."""
        root = self._labels.read(line, at)
        if root is not None and root[1] == root[2] == 0:
            self.dump = DumpReader((0, *root[1:]))
            return True
        return False

    def dump_node(self, line: bytes, at: int) -> bool:
        """A node of a dump; return whether it fits."""
        dump = self.dump
        if dump is None:
            return False
        # an open quote says that the rest stands in the next line
        row = self._labels.read(line, at) if line.endswith(b'"') else None
        return row is not None and dump.add(row)

    def dump_on(self, lines: Sequence[bytes], place: int) -> int:
        """Take the nodes of a dump that stand in the lines from `place` on; return the place of the first line that has to be looked at by itself."""
        return place if self.dump is None else self._labels.read_on(self.dump, lines, place)

    def end_dump(self) -> None:
        """The dump that is being read has ended: write what changed."""
        dump, self.dump = self.dump, None
        if dump is not None:
            # whether the root is among the nodes told is not the same in all releases
            count = len(dump.rows)
            whole = not (dump.broken or dump.left_out) and self._told_nodes in (None, count, count - 1)
            if not whole:
                self.rows.add("warned", f"a trie dump lists {count} of {self._told_nodes or count + dump.left_out + dump.broken} nodes")
            self.requests.settle()
            self.runners.dumped(dump, whole=whole, matched=self.requests.matched)
            self._told_nodes = None

    def peak(self, line: bytes, at: int) -> bool:
        """`peak memory`: a request has ended."""
        found = values.SIZE.search(line, at)
        peak = size(found[1] or found[2]) if found is not None else None
        if peak is not None:
            self.requests.peaked(peak)
        return peak is not None

    def memory(self, line: bytes, at: int) -> bool:
        """A request has ended, as later releases print it: its peak, and what the runner still holds."""
        found = values.HELD.search(line, at)
        peak = size(found[1]) if found is not None else None
        if found is not None and peak is not None:
            if found[2]:
                self.requests.inside("observed", "held", "", size(found[2]), None, None, "GiB", 2**30 // 100, None, "")
            self.requests.peaked(peak)
        return peak is not None

    def terminated(self, line: bytes, at: int) -> bool:
        """A request was cut short."""
        del line, at
        self.requests.cancelled()
        return True

    def wired(self, line: bytes, at: int) -> bool:
        """The bytes of the weights once loaded."""
        found = values.ACTIVE.search(line, at)
        if found is not None:
            active = size(found[1])
            self.rows.add("loaded", active, active, None)
        return found is not None

    def starting(self, line: bytes, at: int) -> bool:
        """A runner's process is started."""
        model = values.MODEL.search(line, at)
        return self._at_port("starting", line, at, values.model_name(model[1]) if model else "")

    def serving(self, line: bytes, at: int) -> bool:
        """A runner answers on its port."""
        return self._at_port("serving", line, at)

    def ready(self, line: bytes, at: int) -> bool:
        """A runner is ready."""
        return self._at_port("ready", line, at)

    def _at_port(self, state: str, line: bytes, at: int, model: str = "") -> bool:
        port = values.PORT.search(line, at)
        if port is not None:
            self.runners.changed(state, port=int(port[1]), model=model)
        return port is not None

    def stopping(self, line: bytes, at: int) -> bool:
        """A runner's process is ended."""
        pid = values.PID.search(line, at)
        if pid is not None:
            self.runners.changed("stopping", pid=int(pid[1]))
        return pid is not None

    def loaded(self, line: bytes, at: int) -> bool:
        """A model is in place."""
        return self._scheduled("loaded", line, at, with_size=True)

    def idle(self, line: bytes, at: int) -> bool:
        """A runner waits."""
        return self._scheduled("idle", line, at)

    def expired(self, line: bytes, at: int) -> bool:
        """A runner's time is over."""
        return self._scheduled("expired", line, at)

    def unloading(self, line: bytes, at: int) -> bool:
        """A runner lets go of its model."""
        return self._scheduled("unloading", line, at)

    def load_failed(self, line: bytes, at: int) -> bool:
        """A model did not load."""
        return self._scheduled("failed", line, at, with_size=True)

    def _scheduled(self, state: str, line: bytes, at: int, *, with_size: bool = False) -> bool:
        name, pid = values.RUNNER_NAME.search(line, at), values.RUNNER_PID.search(line, at)
        if name is None:
            return False
        model, number = values.model_name(name[1]), int(pid[1]) if pid else None
        self.runners.changed(state, model=model, pid=number)
        found = values.RUNNER_SIZE.search(line, at) if with_size else None
        if found is not None and (bytes_ := size(found[1])) is not None:
            self.rows.add("observed", "size", model, bytes_, None, None, "GiB", 2**30 // 10, number, "")
        return True

    def system(self, line: bytes, at: int) -> bool:
        """The system's bytes as the server sees them."""
        found = values.SYSTEM.search(line, at)
        if found is not None:
            for gauge, text in zip(("system_total", "system_free", "swap_free"), found.groups(), strict=True):
                self.rows.add("observed", gauge, "", size(text), None, None, "GiB", 2**30 // 10, None, "")
        return found is not None

    def config(self, line: bytes, at: int) -> bool:
        """The server's settings; those that hold addresses and paths are left out."""
        for name, value in values.SETTING.findall(line, at):
            if not any(word in name for word in (b"HOST", b"ORIGINS", b"MODELS", b"KEY", b"TMPDIR")) or name.endswith(b"LOADED_MODELS"):
                self.rows.add("observed", "setting", name.decode(), None, None, values.words(value)[:120], "", None, None, "")
        return True

    def listening(self, line: bytes, at: int) -> bool:
        """The server begins, and names its version."""
        found = values.VERSION.search(line, at)
        self.requests.ended()
        self.runners.all_gone()
        if found is not None:
            self.version = self.version or found[1].decode()
        return True
