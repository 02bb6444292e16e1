"""Changes: what one look shows that the look before did not, as signs of life.

A model that is not listed while a process that held it lives on is not released: after `SETTLE_S` that is a sign of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvlab.events import Event, LifeSign, RunnerChanged
from kvlab.probe.processes import Process
from kvlab.probe.sample import Sample

SETTLE_S = 5.0
"""Seconds after which a reading counts as settled though no two were equal. A process's footprint was seen to trail by 4 s (ml-explore/mlx issue 3896)."""

RUNNERS = ("ollama", "llama", "runner", "mlx")
"""Parts of the names of programs that hold models also when no model was listed while we looked."""


class Changes:
    """Remembers the last look.

    Attributes:
        left_behind: The processes of which it was told that they were.
    """

    def __init__(self) -> None:
        self._last: Sample | None = None
        # as they were last known: between two looks that know them a server may be silent, or away
        self._server: Process | None = None
        self._listed: tuple[str, ...] = ()
        self._held: set[Process] = set()
        self._empty_since: float | None = None
        self.left_behind: set[Process] = set()

    def see(self, sample: Sample) -> list[Event]:
        """Take one look and return what is new: signs of life, and the runners that began and ended."""
        last = self._last
        signs: list[Event] = [*self._answers(sample, last), *(self._processes(sample, last) if last else ()), *self._left_behind(sample)]
        self._last = sample
        self._server = sample.family.server or self._server
        if sample.models is not None:
            self._listed = tuple(sample.sizes)
        return signs

    def _answers(self, sample: Sample, last: Sample | None) -> Iterator[LifeSign]:
        trouble, before = sample.trouble, last.trouble if last else None
        if trouble is not None and (before is None or before.state != trouble.state):
            yield LifeSign(state=trouble.state, seconds=trouble.seconds, message=f"the list of models: {trouble.message}")
        if trouble is None and before is not None:
            yield LifeSign(state="answering", message="the server answers again")
        if sample.models is not None:
            for name in sorted(set(self._listed) - set(sample.sizes)):
                yield LifeSign(state="unlisted", model=name, message="no longer listed")

    def _processes(self, sample: Sample, last: Sample) -> Iterator[Event]:
        server, before = sample.family.server, last.family.server
        if self._server and server and server != self._server:
            yield LifeSign(state="restarted", pid=server.pid, message=f"the server was process {self._server.pid} and is process {server.pid}")
        elif before and not server:
            yield LifeSign(state="process_gone", pid=before.pid, message="the server's process is gone")
        for runner in last.family.runners:
            if runner not in sample.family.runners:
                listed = ", its model is still listed" if sample.models and set(sample.sizes) & set(last.sizes) else ""
                yield LifeSign(state="process_gone", model=_only(last), pid=runner.pid, message=f"a runner's process is gone{listed}")
                yield RunnerChanged(state="unloaded", model=_only(last), pid=runner.pid)
        for runner in sample.family.runners:
            if runner not in last.family.runners:
                yield RunnerChanged(state="starting", model=_only(sample), pid=runner.pid)

    def _left_behind(self, sample: Sample) -> Iterator[LifeSign]:
        if sample.models is None:
            return
        if sample.models:
            self._empty_since = None
            self._held |= set(sample.family.runners)
            return
        self._empty_since = sample.at if self._empty_since is None else self._empty_since
        empty = sample.at - self._empty_since
        for runner in sample.family.runners:
            holds = runner in self._held or any(part in runner.name.lower() for part in RUNNERS)
            if holds and empty >= SETTLE_S and runner not in self.left_behind:
                self.left_behind.add(runner)
                yield LifeSign(state="left_behind", pid=runner.pid, seconds=empty, message="no model is listed, and the process that held one lives")


def _only(sample: Sample) -> str:
    return sample.models[0].name if sample.models and len(sample.models) == 1 else ""
