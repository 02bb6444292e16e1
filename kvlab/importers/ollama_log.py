"""Ollama's server.log, from v0.18.3 on and at any level, as events.

One pass over the lines. A record is found by its ` msg=`, and by the first eight bytes of its message one table says what reads it: most lines of a
TRACE log are counted after three cheap steps, and only lines that carry figures meet a pattern. What is no whole record (pastes that were
wrapped or shortened, `[GIN]` lines, panics, another engine's output) goes to `ollama_loose`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kvlab.importers import ollama_names as names
from kvlab.importers import ollama_values as values
from kvlab.importers.ollama_loose import Loose
from kvlab.importers.ollama_requests import FREE_ALL, Requests
from kvlab.importers.ollama_runners import Runners
from kvlab.importers.ollama_values import size
from kvlab.importers.rows import Rows
from kvlab.importers.stamps import Clock
from kvlab.importers.summary import KNOWN, NOT, READ, Summary
from kvlab.importers.trie_dump import Dumped, DumpReader

Reader = Callable[[bytes, int], bool]

MARK = b" msg="


class _Entry:
    """Records of one message: how it begins as printed, what reads it, and how many there were."""

    __slots__ = ("begin", "count", "name", "read", "silent")

    def __init__(self, name: str, begin: bytes, read: Reader | None, *, silent: bool = False) -> None:
        self.name = name
        self.begin = begin
        self.read = read
        self.silent = silent
        self.count = 0


class OllamaLog:
    """Reads the lines of a server.log into rows.

    Attributes:
        version: The server's version, when the log names it.
        model: The first model that it names; "" when none.
    """

    kind = "ollama-log"

    def __init__(self, rows: Rows, summary: Summary) -> None:
        self._rows = rows
        self._summary = summary
        self.clock = Clock()
        self._requests = Requests(rows)
        self._runners = Runners(rows, self._requests)
        self._loose = Loose(self, rows, summary)
        self._table: dict[bytes, list[_Entry]] = {}
        self._dump: DumpReader | None = None
        self._told_nodes: int | None = None
        self.version: str | None = None
        self._contradicts = False
        self._nodes = _Entry("cache trie (nodes)", b'"  ', self._dump_node)
        self._fill()

    @property
    def model(self) -> str:
        """The first model that the log names; "" when none."""
        return self._runners.model

    def _fill(self) -> None:
        for message, method in names.READ.items():
            self._enter(message, getattr(self, f"_{method}"))
        for message in names.SILENT:
            self._enter(message, None, silent=True)
        for message in names.KNOWN:
            self._enter(message, None)
        for begin in names.DUMP_LINES:
            self._table[names.key(begin)] = [self._nodes]

    def _enter(self, message: str, read: Reader | None, *, silent: bool = False) -> None:
        quoted = any(letter in ' ="' for letter in message)
        begin = (f'"{message}' if quoted else message).encode()
        entry = _Entry(message.rstrip(": "), begin, read, silent=silent)
        entries = self._table.setdefault(names.key(message), [])
        entries.append(entry)
        # the longest first: `reloading` must not answer for what only begins like it
        entries.sort(key=lambda one: -len(one.begin))
        # the loop over the lines looks at the first one only
        if silent and len(entries) > 1:
            msg = f"{message} begins like another message"
            raise ValueError(msg)

    def lines(self, lines: Sequence[bytes]) -> None:
        """Read the next lines of the file."""
        table, summary, loose, nodes, mark, size_of_mark = self._table, self._summary, self._loose, self._nodes, MARK, len(MARK)
        first = summary.line
        for number, line in enumerate(lines, first + 1):
            at = line.find(mark) + size_of_mark
            if at >= size_of_mark and not loose.waits:
                entries = table.get(line[at : at + 8])
                if entries is not None:
                    entry = entries[0]
                    if entry.silent and line.startswith(entry.begin, at):
                        entry.count += 1
                        continue
                    if entry is nodes and self._dump_node(line, at):
                        entry.count += 1
                        continue
                summary.line = number
                if not self._record(line, at, entries):
                    loose.begin(line)
                continue
            summary.line = number
            if not line or line.isspace():
                summary.count("blank", KNOWN)
            else:
                loose.line(line)
        summary.line = first + len(lines)

    def record(self, line: bytes) -> bool | None:
        """Read a record that was put together; None when it is not one, False when it lacks attributes."""
        at = line.find(b"msg=")
        if at < 0:
            return None
        return self._record(line, at + 4, self._table.get(line[at + 4 : at + 12]))

    def knows(self, line: bytes) -> bool:
        """Return whether the message of a record that was put together is a known one."""
        at = line.find(b"msg=") + 4
        return at >= 4 and any(line.startswith(entry.begin, at) for entry in self._table.get(line[at : at + 8], ()))

    def may_become_known(self, line: bytes) -> bool:
        """Return whether the message of such a record is known or the beginning of a known one; one that has no message yet may become any."""
        at = line.find(b"msg=") + 4
        text = line[at : at + 80]
        return at < 4 or any(text.startswith(one.begin) or one.begin.startswith(text) for entries in self._table.values() for one in entries)

    def finish(self) -> None:
        """The file ends: close what is open and hand over the counts."""
        self._loose.finish()
        self._end_dump()
        self._requests.ended()
        for entry in {id(entry): entry for entries in self._table.values() for entry in entries}.values():
            if entry.count:
                self._summary.count(entry.name, KNOWN if entry.read is None else READ, b"", entry.count)

    def _record(self, line: bytes, at: int, entries: list[_Entry] | None) -> bool:
        """Read a record whose message begins at `at`; return False when attributes are missing that may stand in the next line."""
        for entry in entries or ():
            if line.startswith(entry.begin, at):
                return self._known(entry, line, at)
        if at == len(line) or (line[at : at + 1] == b'"' and line.find(b'"', at + 1) < 0):
            return False
        self._unknown(line, at)
        return True

    def _known(self, entry: _Entry, line: bytes, at: int) -> bool:
        if entry is self._nodes:
            # the loop over the lines has counted those that fit
            self._summary.count("nodes of a trie dump that do not fit", NOT, line)
            return True
        if self._dump is not None:
            self._end_dump()
        self._stamp(line, at)
        if entry.read is None:
            self._warn_of(line, at)
        elif not entry.read(line, at):
            return False
        if self._contradicts:
            self._contradicts = False
            self._summary.count(f"{entry.name} whose figures contradict each other", NOT, line)
        else:
            entry.count += 1
        return True

    def _unknown(self, line: bytes, at: int) -> None:
        self._stamp(line, at)
        found = values.NAMED.match(line, at - 4)
        name = values.words(found[1] or found[2]) if found else "no message"
        self._warn_of(line, at)
        self._summary.count(f"record: {name[:60]}", NOT, line)

    def _stamp(self, line: bytes, at: int) -> None:
        begin = 5 if line.startswith(b"time=") else line.find(b"time=", 0, at) + 5
        if begin >= 5:
            end = line.find(b" ", begin, begin + 48)
            self._rows.t = self.clock.read_bytes(line[begin:end])

    def _warn_of(self, line: bytes, at: int) -> None:
        head = line[:at]
        if b"level=WARN" in head or b"level=ERROR" in head:
            found, error = values.NAMED.match(line, at - 4), values.ERROR.search(line, at)
            if found is not None:
                message = values.words(found[1] or found[2]) + (f": {values.words(error[1])}" if error else "")
                if b"cache.go" in head:
                    self._requests.around("warned", message)
                else:
                    self._rows.add("warned", message)

    def _hit(self, line: bytes, at: int) -> bool:
        found = values.HIT.search(line, at)
        if found is None:
            return False
        total, matched, cached, left = map(int, found.groups())
        if cached + left != total or max(matched, cached) > total:
            self._contradicts = True
        else:
            self._requests.began(total, matched, cached, left)
        return True

    def _progress(self, line: bytes, at: int) -> bool:
        found = values.PROGRESS.search(line, at)
        if found is not None:
            self._requests.progressed(int(found[1]), int(found[2]))
        return found is not None

    def _forward(self, line: bytes, at: int) -> bool:
        return self._read_memory(line, at, "prefill")

    def _decode_forward(self, line: bytes, at: int) -> bool:
        return self._read_memory(line, at, "decode")

    def _read_memory(self, line: bytes, at: int, phase: str) -> bool:
        found = values.MEMORY.search(line, at)
        if found is not None:
            active, pool, peak = map(size, found.groups())
            self._requests.inside("bytes_read", phase, None, None, pool, active, peak, None)
        return found is not None

    def _created(self, line: bytes, at: int) -> bool:
        found = values.OFFSET.search(line, at)
        if found is not None:
            self._requests.inside("captured", int(found[1]))
        return found is not None

    def _page_in(self, line: bytes, at: int) -> bool:
        return self._page("paged_in", line, at)

    def _page_out(self, line: bytes, at: int) -> bool:
        return self._page("paged_out", line, at)

    def _page(self, kind: str, line: bytes, at: int) -> bool:
        found = values.PAGE.search(line, at)
        if found is not None:
            self._requests.around(kind, None, int(found[1]), int(found[2]))
        return found is not None

    def _free_all(self, line: bytes, at: int) -> bool:
        found = values.OFFSET.search(line, at)
        if found is not None:
            self._requests.around("warned", f"{FREE_ALL} (offset {int(found[1])})")
        return found is not None

    def _evict_leaf(self, line: bytes, at: int) -> bool:
        return self._evict("leaf", line, at)

    def _evict_interior(self, line: bytes, at: int) -> bool:
        return self._evict("interior", line, at)

    def _evict(self, state: str, line: bytes, at: int) -> bool:
        found = values.EVICTING.search(line, at)
        if found is not None:
            offset, tokens = int(found[1]), int(found[2])
            self._requests.around("evicted", None, offset, offset + tokens, state, size(found[3] or found[4]))
        return found is not None

    def _totals(self, line: bytes, at: int) -> bool:
        found = values.TOTALS.search(line, at)
        if found is not None:
            self._told_nodes = int(found[4])
            self._requests.held(stored=int(found[1]), size=size(found[2]), counted=size(found[3]), nodes=self._told_nodes)
        return found is not None

    def _tensors(self, line: bytes, at: int) -> bool:
        found = values.TENSORS.search(line, at)
        if found is not None:
            self._requests.allocated(size(found[1]))
        return found is not None

    def _dump_begins(self, line: bytes, at: int) -> bool:
        root = _node(line, at)
        if root is not None and root.start == root.end == 0:
            self._dump = DumpReader(root)
            return True
        return False

    def _dump_node(self, line: bytes, at: int) -> bool:
        dump = self._dump
        if dump is None:
            return False
        node = _node(line, at)
        # two spaces and four letters a level before the edge, a quote before them
        return node is not None and dump.add((line.find(b"[", at) - at - 3) // 4, node)

    def _end_dump(self) -> None:
        dump, self._dump = self._dump, None
        if dump is not None:
            # whether the root is among the nodes told is not the same in all releases
            whole = not (dump.broken or dump.left_out) and self._told_nodes in (None, dump.nodes, dump.nodes - 1)
            if not whole:
                self._rows.add("warned", f"a trie dump lists {dump.nodes} of {self._told_nodes or dump.nodes + dump.left_out + dump.broken} nodes")
            self._requests.settle()
            self._runners.dumped(dump.root, whole=whole, matched=self._requests.matched)
            self._told_nodes = None

    def _peak(self, line: bytes, at: int) -> bool:
        found = values.SIZE.search(line, at)
        if found is not None:
            self._requests.peaked(size(found[1] or found[2]))
        return found is not None

    def _terminated(self, line: bytes, at: int) -> bool:
        del line, at
        self._requests.cancelled()
        return True

    def _wired(self, line: bytes, at: int) -> bool:
        found = values.ACTIVE.search(line, at)
        if found is not None:
            active = size(found[1])
            self._rows.add("loaded", active, active, None)
        return found is not None

    def _starting(self, line: bytes, at: int) -> bool:
        model = values.MODEL.search(line, at)
        return self._at_port("starting", line, at, values.model_name(model[1]) if model else "")

    def _serving(self, line: bytes, at: int) -> bool:
        return self._at_port("serving", line, at)

    def _ready(self, line: bytes, at: int) -> bool:
        return self._at_port("ready", line, at)

    def _at_port(self, state: str, line: bytes, at: int, model: str = "") -> bool:
        port = values.PORT.search(line, at)
        if port is not None:
            self._runners.changed(state, port=int(port[1]), model=model)
        return port is not None

    def _stopping(self, line: bytes, at: int) -> bool:
        pid = values.PID.search(line, at)
        if pid is not None:
            self._runners.changed("stopping", pid=int(pid[1]))
        return pid is not None

    def _loaded(self, line: bytes, at: int) -> bool:
        return self._scheduled("loaded", line, at, with_size=True)

    def _idle(self, line: bytes, at: int) -> bool:
        return self._scheduled("idle", line, at)

    def _expired(self, line: bytes, at: int) -> bool:
        return self._scheduled("expired", line, at)

    def _unloading(self, line: bytes, at: int) -> bool:
        return self._scheduled("unloading", line, at)

    def _load_failed(self, line: bytes, at: int) -> bool:
        return self._scheduled("failed", line, at, with_size=True)

    def _scheduled(self, state: str, line: bytes, at: int, *, with_size: bool = False) -> bool:
        name, pid = values.RUNNER_NAME.search(line, at), values.RUNNER_PID.search(line, at)
        if name is None:
            return False
        model, number = values.model_name(name[1]), int(pid[1]) if pid else None
        self._runners.changed(state, model=model, pid=number)
        found = values.RUNNER_SIZE.search(line, at) if with_size else None
        if found is not None and (bytes_ := size(found[1])) is not None:
            self._rows.add("observed", "size", model, bytes_, None, None, "GiB", 2**30 // 10, number, "")
        return True

    def _system(self, line: bytes, at: int) -> bool:
        found = values.SYSTEM.search(line, at)
        if found is not None:
            for gauge, text in zip(("system_total", "system_free", "swap_free"), found.groups(), strict=True):
                self._rows.add("observed", gauge, "", size(text), None, None, "GiB", 2**30 // 10, None, "")
        return found is not None

    def _listening(self, line: bytes, at: int) -> bool:
        found = values.VERSION.search(line, at)
        self._requests.ended()
        self._runners.all_gone()
        if found is not None:
            self.version = self.version or found[1].decode()
        return True


def _node(line: bytes, at: int) -> Dumped | None:
    found = values.NODE.search(line, at)
    if found is None:
        return None
    start, end, tokens, counted, flags = found.groups()
    first, last = int(start), int(end)
    if last - first != int(tokens):
        return None
    told = flags or b""
    counts = (size(counted) or 0) if counted else 0
    return Dumped(first, last, counts, user=b"user" in told, snap=b"snap" in told, active=b"active" in told)
