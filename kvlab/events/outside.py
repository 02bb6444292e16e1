"""Events observed from outside: figures read from tools, tables and servers, and the lifetimes of servers and their processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kvlab.events.base import Event


@dataclass(slots=True)
class Observed(Event):
    """A figure that was read from a tool, a table or a server's answer. Of its three values one is set.

    Attributes:
        gauge: The quantity: size, footprint, rss, swap_used, decode_tps, ...; `kvlab/importers/gauges.toml` has those that importers use.
        label: Whose it is: a model, a kind of region, a row's own name, an arm of a comparison; "" when there is one only.
        observed: Bytes; may be negative in a difference.
        number: A figure that is not bytes.
        words: What is neither, such as a colour.
        unit: The unit as it was found: `GB`, `GiB`, `pages of 16384 B`, `s`; "" for a bare number.
        step: Bytes between this print and the next one that differs: `18 GB` has a step of 10^9. None when not bytes.
        pid: The process it is of.
        at: The time as it was found; "" when none was given.
    """

    kind: ClassVar[str] = "observed"
    gauge: str = ""
    label: str = ""
    observed: int | None = None
    number: float | None = None
    words: str | None = None
    unit: str = ""
    step: int | None = None
    pid: int | None = None
    at: str = ""


@dataclass(slots=True)
class Listed(Event):
    """A server named one of the `count` models it has loaded; with count 0 it named none.

    Attributes:
        count: How many it named at once.
        model: The model's name.
        digest: Which weights, as the server names them; "" when not reported.
        context: Its context length in tokens; None when not reported.
        label: How long it stays loaded, as the server reports it.
        at: The time as it was found; "" when none was given.
    """

    kind: ClassVar[str] = "listed"
    count: int = 0
    model: str = ""
    digest: str = ""
    context: int | None = None
    label: str = ""
    at: str = ""


@dataclass(slots=True)
class RunnerChanged(Event):
    """A server reported a change of one of its runner processes.

    Attributes:
        state: One of `RUNNER_STATES`.
        model: The model it runs; "" when not reported.
        pid: Its number; None when not reported.
        port: The port it listens on; None when not reported.
    """

    kind: ClassVar[str] = "runner_changed"
    state: str = ""
    model: str = ""
    pid: int | None = None
    port: int | None = None


RUNNER_STATES = ("starting", "serving", "ready", "loaded", "idle", "expired", "unloading", "stopping", "unloaded", "failed")
"""States of a runner: its process starts, listens on its port, is ready, has loaded a model, is idle, its keep-alive is over, it unloads, stops, is unloaded,
failed to load."""


@dataclass(slots=True)
class ProcessSeen(Event):
    """A process was alive.

    Attributes:
        pid: Its number.
        ppid: Its parent's number; None when not reported.
        label: The name of its program.
        model: The model that it holds; "" when not known.
        at: The time as it was found; "" when none was given.
    """

    kind: ClassVar[str] = "process_seen"
    pid: int | None = None
    ppid: int | None = None
    label: str = ""
    model: str = ""
    at: str = ""


@dataclass(slots=True)
class Served(Event):
    """A server answered: `status` to the call `label` (method and path) after `seconds`."""

    kind: ClassVar[str] = "served"
    label: str = ""
    status: int = 0
    seconds: float = 0.0


@dataclass(slots=True)
class LinesCounted(Event):
    """An importer read `count` lines of the kind `label`, the first one at `line` (from 1); `understood` is one of `UNDERSTOOD`."""

    kind: ClassVar[str] = "lines_counted"
    label: str = ""
    understood: str = ""
    count: int = 0
    line: int = 0


UNDERSTOOD = ("read", "known", "not_understood")
"""What an importer made of a line: its figures are in the recording; it is known and has none that a table takes; not known, or its figures contradict."""


@dataclass(slots=True)
class LifeSign(Event):
    """A client observed a server: a sign that it works, restarts, unloads or fails.

    Attributes:
        state: One of `LIFE_SIGNS`.
        model: The model that it is about; "" when it is about none.
        pid: The process that it is about; None when not known.
        seconds: What it took.
        message: Its details; never a prompt or an answer.
    """

    kind: ClassVar[str] = "life_sign"
    state: str = ""
    model: str = ""
    pid: int | None = None
    seconds: float = 0.0
    message: str = ""


LIFE_SIGNS = (
    *("answering", "restarted", "unlisted", "process_gone", "replaced", "left_behind", "stale_size"),
    *("unload_asked", "unload_accepted", "unload_refused", "unload_verified", "loaded_again", "settled", "not_settled"),
    *("restart_asked", "not_restarted"),
    *("stalled", "refused", "wrong_answer", "failed"),
)
"""`replaced`: a model that stayed listed is held by another process. `left_behind`: not listed, and the old process is alive. `unload_verified`: not listed,
its process gone. `settled`: two equal readings, or the time to settle, of the same processes. `stalled`: no answer in time, or seconds that the server does
not account for. `refused`: connection refused. `wrong_answer`: not what the API promises. `failed`: an error."""
