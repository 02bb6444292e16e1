"""Unloading, and whether it happened. The server's answer only says that it accepted.

Proof, in this order: the model is no longer listed; the process that held it is gone; the next request is answered by another process. A list that is empty
while the old process is still there is not released.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

from kvlab.probe.changes import SETTLE_S
from kvlab.probe.connection import Trouble
from kvlab.probe.monitor import POLL_S, Monitor
from kvlab.probe.processes import Process
from kvlab.probe.sample import Sample
from kvlab.probe.server import Server
from kvlab.probe.writer import EventWriter

WITHIN_S = 60.0
"""Seconds in which a model has to leave the list: a running request holds it there."""

WAYS = ("api", "stop")
"""How a model is unloaded: by the API with `keep_alive` 0, or by the command `ollama stop`. The third way is to restart the server (restarting.py)."""

Stop = Callable[[Server, str], str]
"""Runs `ollama stop` for a model; returns "" or why it did not work."""


def can_stop(stop: Stop) -> bool:
    """Return whether `ollama stop` can be run here."""
    return stop is not ollama_stop or shutil.which("ollama") is not None


def ollama_stop(server: Server, model: str) -> str:
    """Run `ollama stop` against the server that is probed."""
    program = shutil.which("ollama")
    if program is None:
        return "the command ollama is not installed here"
    environment = os.environ | {"OLLAMA_HOST": str(server.address)}
    try:
        done = subprocess.run([program, "stop", model], check=False, capture_output=True, env=environment, timeout=WITHIN_S)
    except (OSError, subprocess.SubprocessError):
        return "the command ollama stop did not end"
    return "" if done.returncode == 0 else f"the command ollama stop ended with {done.returncode}"


class Unloading:
    """Unloads a model and looks for the proof."""

    def __init__(self, server: Server, monitor: Monitor, writer: EventWriter, stop: Stop = ollama_stop) -> None:
        self._server = server
        self._monitor = monitor
        self._writer = writer
        self._stop = stop
        self._before: Sample | None = None

    def unload(self, model: str, request: int = 0, way: str = "api") -> bool:
        """Unload `model` by one of `WAYS` and return whether that is proved so far; a later request's `answered` completes the proof.

        Raises:
            Forbidden: this probe only reads.
        """
        before = self._monitor.sample([request])
        listed = model in before.sizes
        self._writer.sign("unload_asked", f"by {way}" + ("" if listed else "; it was not listed before"), request, model=model)
        if not self._accepted(model, request, way):
            return False
        self._before = before
        now = self._wait(before, model, request)
        proved = listed and model not in now.sizes and now.models is not None and bool(before.family.holders) and not _old_alive(before, now)
        self._record(before, now, model, request, proved=proved)
        self._monitor.settled([request])
        return proved

    def ended(self, before: Sample) -> None:
        """The server was restarted after the sample `before`: the next request has to be answered by another process."""
        self._before = before

    def answered(self, sample: Sample, request: int, load_s: float) -> None:
        """A request after an unload was answered: record whether a process other than the old one did it."""
        if self._before is None:
            return
        before, self._before = self._before, None
        old, new = set(before.family.holders), [one for one in sample.family.holders if one not in set(before.family.holders)]
        took = f"the server says that loading took {load_s:.3f} s"
        if new:
            self._writer.sign("loaded_again", f"by a new process; {took}", request, seconds=load_s, pid=new[-1].pid)
        elif old and before.family.runners:
            self._writer.sign("left_behind", f"the next request was answered by the old process; {took}", request, seconds=load_s, pid=next(iter(old)).pid)
        else:
            self._writer.sign("loaded_again", f"which process did it cannot be seen; {took}", request, seconds=load_s)

    def _accepted(self, model: str, request: int, way: str) -> bool:
        if way == "stop":
            self._server.require_may_send()
            refused = self._stop(self._server, model)
        else:
            try:
                reason = self._server.unload(model)
                refused = "" if reason == "unload" else f"the server answered {reason!r} instead of 'unload'"
            except Trouble as trouble:
                refused = f"{trouble.state}: {trouble.message}"
        words = refused or "accepted, which does not say that it happened"
        self._writer.sign("unload_refused" if refused else "unload_accepted", words, request, model=model)
        return not refused

    def _wait(self, before: Sample, model: str, request: int) -> Sample:
        unlisted_at: float | None = None
        while True:
            now = self._monitor.sample([request])
            gone = now.models is not None and model not in now.sizes
            unlisted_at = (now.at if unlisted_at is None else unlisted_at) if gone else None
            if unlisted_at is not None and (not _old_alive(before, now) or now.at - unlisted_at >= SETTLE_S):
                return now
            if now.at - before.at >= WITHIN_S:
                return now
            self._writer.clock.wait(POLL_S)

    def _record(self, before: Sample, now: Sample, model: str, request: int, *, proved: bool) -> None:
        old, pid = _old_alive(before, now), None
        if now.models is None:
            state, words = "not_settled", "the server does not return its list"
        elif model in now.sizes:
            state, words = "not_settled", "it is still listed; a running request may hold it"
        elif old:
            state, words, pid = "left_behind", "it is no longer listed, and the process that held it is still there", old[0].pid
            if self._monitor.knows_left_behind(old[0]):
                return
        elif proved:
            state, words = "unload_verified", _proof(before)
        elif model in before.sizes:
            state, words = "unlisted", "it is no longer listed; its process cannot be seen from here, so nothing proves that it is gone"
        else:
            return
        self._writer.sign(state, words, request, model=model, seconds=now.at - before.at, pid=pid)


def _old_alive(before: Sample, now: Sample) -> list[Process]:
    """Return the old runners that live though they should not: all, or all but one fewer where several models were loaded."""
    alive = [one for one in before.family.runners if one in now.family.runners]
    several = before.models is not None and len(before.models) > 1
    return [] if several and len(alive) < len(before.family.runners) else alive


def _proof(before: Sample) -> str:
    gone = ", ".join(str(one.pid) for one in before.family.runners)
    return f"no longer listed, and process {gone} is gone" if gone else "no longer listed; the server holds its models itself, so no process had to end"
