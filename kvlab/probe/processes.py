"""Processes: which ones hold the models. A server's runners are its descendants; a server without any holds the models itself.

Invariants: a process is identified by its number and the time it began, so a number that is used again is another process. One that
has ended and waits for its parent to take notice holds nothing and counts as gone. A runner that outlives its server holds what it held,
so it stays in the family until it ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import psutil

SERVERS = ("ollama", "kvlab", "llama-server", "llama_server", "mlx_lm")
"""Names of programs whose ports are read one by one, where the system lists the ports of one's own processes only."""


@dataclass(frozen=True, slots=True)
class Process:
    """One process.

    Attributes:
        pid: Its number.
        ppid: Its parent's number.
        name: The name of its program.
        born: When it began, in seconds since 1970.
    """

    pid: int
    ppid: int
    name: str
    born: float


@dataclass(frozen=True, slots=True)
class Family:
    """A server and its runners; `server` is None when it was not found."""

    server: Process | None = None
    runners: tuple[Process, ...] = ()

    @property
    def holders(self) -> tuple[Process, ...]:
        """Those that can hold a model: the runners, or the server where there are none."""
        return self.runners or ((self.server,) if self.server else ())


class Processes(Protocol):
    """Finds a server's processes."""

    def family(self) -> Family:
        """Return them as they are now; an empty family when they cannot be seen."""
        ...


class NoProcesses:
    """What can be seen of another machine's processes."""

    def family(self) -> Family:
        """Return an empty family."""
        return Family()


class SystemProcesses:
    """Looks for the process that listens on `port`, or begins with `pid`; when that one ends, for the next one that listens."""

    def __init__(self, port: int, pid: int | None = None) -> None:
        self._port = port
        self._server: psutil.Process | None = None if pid is None else _process(pid)
        self._runners: tuple[Process, ...] = ()

    def family(self) -> Family:
        """Return the server and its descendants that live."""
        server = self._found()
        try:
            children = server.children(recursive=True) if server else []
        except psutil.Error:
            children = []
        runners = {(found.pid, found.born): found for child in children if (found := _alive(child))}
        # as they were first seen: who outlives its server has another parent, and is the same process
        runners |= {(one.pid, one.born): one for one in self._runners if _lives(one)}
        self._runners = tuple(sorted(runners.values(), key=lambda process: process.born))
        return Family(_alive(server) if server else None, self._runners)

    def _found(self) -> psutil.Process | None:
        # is_running compares the time it began, too
        if self._server is None or not self._server.is_running() or _alive(self._server) is None:
            pid = _listener(self._port)
            self._server = None if pid is None else _process(pid)
        return self._server


def _process(pid: int) -> psutil.Process | None:
    try:
        return psutil.Process(pid)
    except psutil.Error:
        return None


def _lives(process: Process) -> bool:
    found = _process(process.pid)
    now = _alive(found) if found else None
    return now is not None and now.born == process.born


def _alive(process: psutil.Process) -> Process | None:
    try:
        with process.oneshot():
            if process.status() == psutil.STATUS_ZOMBIE:
                return None
            return Process(process.pid, process.ppid(), process.name(), process.create_time())
    except psutil.Error:
        return None


def _listener(port: int) -> int | None:
    try:
        connections = psutil.net_connections("tcp")
    except (psutil.Error, OSError):
        return _own_listener(port)
    for connection in connections:
        if connection.status == psutil.CONN_LISTEN and connection.laddr and connection.laddr.port == port and connection.pid:
            return connection.pid
    return None


def _own_listener(port: int) -> int | None:
    for process in psutil.process_iter(["name"]):
        try:
            if not any(name in (process.info["name"] or "").lower() for name in (*SERVERS, "python")):
                continue
            if any(one.status == psutil.CONN_LISTEN and one.laddr and one.laddr.port == port for one in process.net_connections("tcp")):
                return process.pid
        except (psutil.Error, OSError):
            continue
    return None
