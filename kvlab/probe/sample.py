"""Sample: the state of a server, its processes and its machine at one moment, and its events.

Invariant: taking a sample never fails; what could not be read is missing, and `trouble` says why the server did not answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from kvlab.allocator.process_bytes import ProcessBytes
from kvlab.events import Event, Listed, Observed, ProcessSeen
from kvlab.probe.connection import Trouble
from kvlab.probe.processes import Family, Process, Processes
from kvlab.probe.server import ListedModel, Server
from kvlab.probe.system_bytes import MachineBytes, ReadsMachine, ReadsProcess, categories
from kvlab.probe.writer import Clock
from kvlab.units import MIB

SERVER, RUNNER = "server", "runner"
"""What a process is to the server that is probed."""

END_OF_SAMPLE = "processes"
"""The gauge that ends a sample: how many runners there are."""

NOBODY = Family()
NOTHING_READ = MachineBytes()


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample.

    Attributes:
        at: When, on the probe's clock.
        models: What the server lists; None when it did not answer.
        trouble: Why it did not.
        family: The server's processes.
        held: What each of them holds.
        machine: What the machine has left.
    """

    at: float
    models: tuple[ListedModel, ...] | None
    trouble: Trouble | None = None
    family: Family = NOBODY
    held: Mapping[int, ProcessBytes] = field(default_factory=dict[int, ProcessBytes])
    machine: MachineBytes = NOTHING_READ

    @property
    def sizes(self) -> dict[str, int | None]:
        """Bytes that the server reports, by model."""
        return {model.name: model.size for model in self.models or ()}

    @property
    def footprint(self) -> int | None:
        """Bytes that the holders of models keep to themselves; None when it cannot be read of any."""
        counts = [self.held[one.pid].footprint for one in self.family.holders if one.pid in self.held]
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    def equals(self, other: Sample) -> bool:
        """Whether nothing moved between two samples: the same processes, the same sizes, and footprints within 1 MiB."""
        mine, theirs = self.footprint or 0, other.footprint or 0
        same_processes = self.family.holders == other.family.holders
        return same_processes and self.models is not None and other.models is not None and self.sizes == other.sizes and abs(mine - theirs) <= MIB


class Sampler:
    """Takes samples."""

    def __init__(self, server: Server, processes: Processes, process_bytes: ReadsProcess, machine_bytes: ReadsMachine, clock: Clock) -> None:
        self._server = server
        self._processes = processes
        self._process_bytes = process_bytes
        self._machine_bytes = machine_bytes
        self._clock = clock

    def take(self) -> Sample:
        """Take one sample."""
        models, trouble = None, None
        try:
            models = self._server.listed()
        except Trouble as met:
            trouble = met
        family = self._processes.family()
        held = {process.pid: self._process_bytes(process.pid) for process in (*family.runners, family.server) if process}
        return Sample(self._clock.now(), models, trouble, family, held, self._machine_bytes())


def sample_events(sample: Sample, before: Sample | None = None) -> Iterator[Event]:
    """Yield the events of a sample; with the one `before`, the machine's rates of swapping since then too."""
    if sample.models is not None:
        for model in sample.models:
            yield Listed(count=len(sample.models), model=model.name, digest=model.digest, context=model.context, label=model.expires_at)
            yield from _bytes("size", model.size, label=model.name)
            yield from _bytes("size_vram", model.size_vram, label=model.name)
        if not sample.models:
            yield Listed(count=0)
    # the server before its runners: the last figure of a gauge is then that of a runner
    if sample.family.server:
        yield from _process(sample.family.server, SERVER, sample)
    for process in sample.family.runners:
        yield from _process(process, RUNNER, sample)
    yield from _machine(sample.machine)
    if before is not None:
        yield from _swapping(sample, before)
    # always there, and last: tables take it for the end of a sample
    yield Observed(gauge=END_OF_SAMPLE, number=len(sample.family.runners))


def _process(process: Process, role: str, sample: Sample) -> Iterator[Event]:
    yield ProcessSeen(pid=process.pid, ppid=process.ppid, label=process.name, model=_model(sample) if role == RUNNER else "")
    held = sample.held.get(process.pid, ProcessBytes())
    yield from _bytes("footprint", held.footprint, label=role, pid=process.pid, step=held.step or 1)
    for gauge, count in (("rss", held.resident), ("anonymous", held.anonymous), ("mapped", held.mapped), ("process_swap", held.swapped)):
        yield from _bytes(gauge, count, label=role, pid=process.pid)
    if held.text:
        yield from categories(held.text, process.pid)


def _model(sample: Sample) -> str:
    # which of several runners holds which model is reported nowhere
    return sample.models[0].name if sample.models and len(sample.models) == 1 else ""


def _machine(machine: MachineBytes) -> Iterator[Event]:
    for gauge in ("available", "swap_used", "swapped_in", "swapped_out"):
        yield from _bytes(gauge, getattr(machine, gauge))
    for gauge, share in (("free_share", machine.free_share), ("pressure_share", machine.pressure_share)):
        if share is not None:
            yield Observed(gauge=gauge, number=share)


def _swapping(sample: Sample, before: Sample) -> Iterator[Event]:
    """Yield what was swapped since the sample before, and how fast."""
    seconds = sample.at - before.at
    for way in ("in", "out"):
        now, then = (getattr(one.machine, f"swapped_{way}") for one in (sample, before))
        if now is not None and then is not None and now >= then:
            yield from _bytes(f"swapped_{way}_since", now - then)
            if seconds > 0:
                yield Observed(gauge=f"swap_{way}_rate", number=(now - then) / seconds, unit="B/s")


def _bytes(gauge: str, count: int | None, *, label: str = "", pid: int | None = None, step: int = 1) -> Iterator[Event]:
    if count is not None:
        yield Observed(gauge=gauge, observed=count, unit="B", step=step, label=label, pid=pid)
