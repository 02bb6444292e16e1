"""When each node was last used: what eviction goes by, rebuilt from the events.

The cache notes a use without an event. It uses a node whenever its path comes to rest there: after a match, after a capture was put on
it, and when a request closes. A new node and the head of a split begin as recent as
what they come from; the head of an edge in which a request resumed as recent as that. Invariant (a test holds it
against the evictions of real runs): the order of uses is the cache's own.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kvlab import events as ev
from kvlab.recording.readings import PREDICTED

_MOVES = frozenset(
    {"frontier_moved", "node_born", "node_split", "snapshot_taken", "snapshot_closed", "snapshot_placed", "snapshot_owned", "allocated", "freed"}
)


@dataclass(slots=True)
class Uses:
    """Uses of nodes as events come.

    Attributes:
        rows: (seq, node, clock, times): from `seq` on, `node` was last used at `clock` and had been used so many `times`.
    """

    rows: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    _clock: int = 0
    _frontier: int = 0
    _rests: bool = True
    _closes: bool = False
    _entered: tuple[int, int] = (-1, 0)
    _now: dict[int, tuple[int, int]] = field(default_factory=dict[int, tuple[int, int]])

    def take(self, event: ev.Event) -> None:
        """Take the next event."""
        read = event.phase if isinstance(event, ev.BytesRead) and event.source != PREDICTED else ""
        # closing uses the frontier once, at its end, whatever happens before
        self._closes = read == "decode" or (self._closes and read != "close")
        rested = not self._rests and not self._closes and event.kind not in _MOVES
        if rested or read == "close" or isinstance(event, ev.Matched):
            self._use(event.seq)
        if isinstance(event, ev.Matched):
            self._entered = event.cached, self._clock
        if isinstance(event, ev.FrontierMoved):
            self._frontier, self._rests = event.node, False
        elif isinstance(event, ev.NodeBorn):
            self._set(event.seq, event.node, self._now.get(event.parent, (0, 0))[0], 0)
        elif isinstance(event, ev.NodeSplit):
            used, times = self._now.get(event.node, (0, 0))
            self._set(event.seq, event.head, self._entered[1] if event.end == self._entered[0] else used, times)
        elif isinstance(event, ev.NodeMerged):
            head, node = self._now.get(event.head, (0, 0)), self._now.get(event.node, (0, 0))
            self._set(event.seq, event.node, max(head[0], node[0]), max(head[1], node[1]))

    def _use(self, seq: int) -> None:
        self._rests = True
        self._clock += 1
        self._set(seq, self._frontier, self._clock, self._now.get(self._frontier, (0, 0))[1] + 1)

    def _set(self, seq: int, node: int, clock: int, times: int) -> None:
        self._now[node] = clock, times
        self.rows.append((seq, node, clock, times))
