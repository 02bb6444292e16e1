"""Runner processes of an Ollama log: which are alive, and whose trie a dump shows.

Records of a runner do not name it. While one is alive everything is its own. While several are, a dump goes to the one whose last dump has the most edges
in common with it; that they mixed is said once, as a warning.
"""

from __future__ import annotations

from dataclasses import dataclass

from kvlab.importers.ollama_requests import Requests
from kvlab.importers.rows import Rows
from kvlab.importers.trie_dumps import DumpReader, Row
from kvlab.importers.trie_seen import Names, TrieSeen

MIXED = "several runners were alive at once; records do not name theirs, so requests and tries are kept apart by their figures only"

ENDS = ("stopping", "unloaded")
"""States with which a runner ends."""

ANEW = ("starting", *ENDS)
"""States after which no request of before is the last one."""

MOST_ALIVE = 64


@dataclass(slots=True, eq=False)
class _Runner:
    trie: TrieSeen
    port: int | None = None
    pid: int | None = None
    model: str = ""


class Runners:
    """The runners that are alive.

    Attributes:
        model: The first model that was named; "" before.
        mixed: Several were alive at once.
        anew: How many requests had begun when a runner last began or ended.
    """

    __slots__ = ("_alive", "_names", "_requests", "_rows", "anew", "mixed", "model")

    def __init__(self, rows: Rows, requests: Requests) -> None:
        self._rows = rows
        self._requests = requests
        self._names = Names()
        self._alive: list[_Runner] = []
        self.model = ""
        self.mixed = False
        self.anew = 0

    def changed(self, state: str, *, model: str = "", pid: int | None = None, port: int | None = None) -> None:
        """A record tells of a runner: `state` is one of `kvlab.events.RUNNER_STATES`."""
        self.model = self.model or model
        if state in ("starting", "serving", "ready"):
            self._started(model, port)
        elif state == "loaded":
            self._named(model, pid)
        self._rows.add("runner_changed", state, model, pid, port)
        if state in ANEW:
            self.anew = self._rows.requests
        if state in ENDS:
            self._stopped(pid)

    def dumped(self, dump: DumpReader, *, whole: bool, matched: int | None) -> None:
        """A dump of a trie has been read."""
        runner = self._whose(dump.rows)
        runner.trie.seen(dump, self._rows, whole=whole, matched=matched)

    def all_gone(self) -> None:
        """The server begins anew: no runner of before is alive."""
        self.anew = self._rows.requests
        for runner in list(self._alive):
            self._end(runner)

    def _started(self, model: str, port: int | None) -> None:
        if port is None or any(runner.port == port for runner in self._alive):
            return
        if len(self._alive) >= MOST_ALIVE:
            self._end(self._alive[0])
        self._alive.append(_Runner(TrieSeen(self._names), port, None, model))
        self._requests.several = len(self._alive) > 1
        if len(self._alive) == 2 and not self.mixed:
            self.mixed = True
            self._rows.add_to(0, "warned", (MIXED,))

    def _named(self, model: str, pid: int | None) -> None:
        if pid is None or any(runner.pid == pid for runner in self._alive):
            return
        for runner in reversed(self._alive):
            if runner.pid is None:
                runner.pid, runner.model = pid, model
                return

    def _stopped(self, pid: int | None) -> None:
        if not self._alive:
            self._requests.ended()
            return
        runner = next((one for one in self._alive if one.pid == pid and pid is not None), None)
        if runner is None:
            runner = next((one for one in self._alive if one.pid is None), None)
        if runner is None:
            return
        if len(self._alive) == 1:
            self._requests.ended()
        self._end(runner)

    def _end(self, runner: _Runner) -> None:
        runner.trie.gone(self._rows)
        self._alive.remove(runner)
        self._requests.several = len(self._alive) > 1

    def _whose(self, rows: list[Row]) -> _Runner:
        if not self._alive:
            # the log begins after its runner did
            self._alive.append(_Runner(TrieSeen(self._names)))
        if len(self._alive) == 1:
            return self._alive[0]
        edges = _edges(rows)
        return max(reversed(self._alive), key=lambda runner: len(edges & _edges(runner.trie.rows)))


def _edges(rows: list[Row]) -> set[tuple[int, int]]:
    return {row[1:3] for row in rows[1:]}
