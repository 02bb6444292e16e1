"""Changes: what one sample shows that the sample before did not, as signs of life.

A runner that is gone while its model stays listed, and another one that comes, is one that was replaced. A model that is not listed while a
process that held it is still there is not released: after `SETTLE_S` that is a sign of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from kvlab.events import Event, LifeSign, RunnerChanged, Warned
from kvlab.probe.processes import Process
from kvlab.probe.sample import Sample
from kvlab.units import MIB, binary

SETTLE_S = 5.0
"""Seconds after which a reading counts as settled though no two were equal. A process's footprint was seen to trail by 4 s (ml-explore/mlx issue 3896)."""

RUNNERS = ("ollama", "llama", "runner", "mlx")
"""Parts of the names of programs that may hold models though no sample lists any."""

MUCH = 256 * MIB
"""Bytes that a child of the server holds from which on it may hold a model, whatever its name."""


class Changes:
    """Remembers the last sample.

    Attributes:
        left_behind: The processes that a sign reports as left behind.
    """

    def __init__(self) -> None:
        self._last: Sample | None = None
        # as they were last known: between two samples that know them a server may be silent, or away
        self._server: Process | None = None
        self._listed: tuple[str, ...] = ()
        self._held: set[Process] = set()
        self._empty_since: float | None = None
        # runners that ended while their model stayed listed
        self._gone: list[Process] = []
        self.left_behind: set[Process] = set()

    def see(self, sample: Sample) -> list[Event]:
        """Take one sample and return what is new: signs of life, and the runners that began and ended."""
        last = self._last
        moved = self._processes(sample, last) if last else _unlisted_at_first(sample)
        signs: list[Event] = [*self._answers(sample, last), *moved, *self._left_behind(sample)]
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
            left = sorted(set(self._listed) - set(sample.sizes))
            # what left the list, too, was not replaced
            self._gone = self._gone[len(left) :] if sample.models else []
            for name in left:
                yield LifeSign(state="unlisted", model=name, message="no longer listed")

    def _processes(self, sample: Sample, last: Sample) -> Iterator[Event]:
        server, before = sample.family.server, last.family.server
        if self._server and server and server != self._server:
            yield LifeSign(state="restarted", pid=server.pid, message=f"the server was process {self._server.pid} and is process {server.pid}")
        elif before and not server:
            yield LifeSign(state="process_gone", pid=before.pid, message="the server's process is gone")
        for runner in last.family.runners:
            if runner not in sample.family.runners:
                stays = bool(sample.models) and set(last.sizes) <= set(sample.sizes)
                if stays:
                    self._gone.append(runner)
                listed = ", its model is still listed" if stays else ""
                yield LifeSign(state="process_gone", model=_only(last), pid=runner.pid, message=f"a runner's process is gone{listed}")
                yield RunnerChanged(state="unloaded", model=_only(last), pid=runner.pid)
        for runner in sample.family.runners:
            if runner not in last.family.runners:
                yield RunnerChanged(state="starting", model=_only(sample), pid=runner.pid)
                if self._gone:
                    old = self._gone.pop(0)
                    words = f"a new runner: the model that stayed listed was held by process {old.pid} and is held by process {runner.pid}"
                    yield LifeSign(state="replaced", model=_only(sample), pid=runner.pid, message=words)

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
                yield LifeSign(state="left_behind", pid=runner.pid, seconds=empty, message="no model is listed, and the process that held one is still there")


def _unlisted_at_first(sample: Sample) -> Iterator[Event]:
    """Yield what the first sample shows when no model is listed and processes live that may hold one."""
    for runner in sample.family.runners if sample.models == () else ():
        held = sample.held[runner.pid].footprint if runner.pid in sample.held else None
        if any(part in runner.name.lower() for part in RUNNERS) or (held or 0) >= MUCH:
            holds = "" if held is None else f" and holds {binary(held)}"
            yield Warned(message=f"no model is listed in the first sample, and process {runner.pid}, which the server started, is there{holds}")


def _only(sample: Sample) -> str:
    return sample.models[0].name if sample.models and len(sample.models) == 1 else ""
