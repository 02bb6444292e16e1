"""Unloading, and whether it happened. The server's answer only says that it accepted.

Proof, in this order: the model is no longer listed; the process that held it is gone; the next request is answered by another process. A list that is empty
while the old process lives is not released.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable

from kvlab.events import LifeSign
from kvlab.probe.changes import SETTLE_S
from kvlab.probe.clock import Clock
from kvlab.probe.looking import POLL_S, Looking
from kvlab.probe.processes import Process
from kvlab.probe.sample import Sample
from kvlab.probe.server import Server
from kvlab.probe.telling import Teller
from kvlab.probe.trouble import Trouble

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

    def __init__(self, server: Server, looking: Looking, teller: Teller, clock: Clock, stop: Stop = ollama_stop) -> None:
        self._server = server
        self._looking = looking
        self._teller = teller
        self._clock = clock
        self._stop = stop
        self._before: Sample | None = None

    def unload(self, model: str, request: int = 0, way: str = "api") -> bool:
        """Unload `model` by one of `WAYS` and return whether that is proved so far; a later request's `answered` completes the proof.

        Raises:
            Forbidden: this probe only reads.
        """
        before = self._looking.look([request])
        listed = model in before.sizes
        self._tell("unload_asked", model, f"by {way}" + ("" if listed else "; it was not listed before"), request)
        if not self._accepted(model, request, way):
            return False
        self._before = before
        now = self._wait(before, model, request)
        waited = now.at - before.at
        old = self._old_alive(before, now)
        proved = False
        if now.models is None:
            self._tell("not_settled", model, "the server does not tell its list", request, waited)
        elif model in now.sizes:
            self._tell("not_settled", model, "it is still listed; a running request may hold it", request, waited)
        elif old:
            if not self._looking.knows_left_behind(old[0]):
                self._tell("left_behind", model, "it is no longer listed, and the process that held it lives", request, waited, old[0].pid)
        elif listed and before.family.holders:
            proved = True
            self._tell("unload_verified", model, self._proof(before), request, waited)
        elif listed:
            self._tell("unlisted", model, "it is no longer listed; its process cannot be seen from here, so nothing proves that it is gone", request, waited)
        self._looking.settled([request])
        return proved

    def ended(self, before: Sample) -> None:
        """What held the model at the look `before` was ended in another way: the next request has to be answered by another process."""
        self._before = before

    def answered(self, sample: Sample, request: int, load_s: float) -> None:
        """A request after an unload was answered: say whether a process other than the old one did it."""
        if self._before is None:
            return
        before, self._before = self._before, None
        old, new = set(before.family.holders), [one for one in sample.family.holders if one not in set(before.family.holders)]
        took = f"the server says that loading took {load_s:.3f} s"
        if new:
            self._tell("loaded_again", "", f"by a new process; {took}", request, load_s, new[-1].pid)
        elif old and before.family.runners:
            self._tell("left_behind", "", f"the next request was answered by the old process; {took}", request, load_s, next(iter(old)).pid)
        else:
            self._tell("loaded_again", "", f"which process did it cannot be told apart; {took}", request, load_s)

    def _accepted(self, model: str, request: int, way: str) -> bool:
        if way == "stop":
            self._server.require_may_ask()
            refused = self._stop(self._server, model)
        else:
            try:
                reason = self._server.unload(model)
                refused = "" if reason == "unload" else f"the server answered {reason!r} instead of 'unload'"
            except Trouble as trouble:
                refused = f"{trouble.state}: {trouble.message}"
        self._tell("unload_refused" if refused else "unload_accepted", model, refused or "accepted, which does not say that it happened", request)
        return not refused

    def _wait(self, before: Sample, model: str, request: int) -> Sample:
        unlisted_at: float | None = None
        while True:
            now = self._looking.look([request])
            gone = now.models is not None and model not in now.sizes
            unlisted_at = (now.at if unlisted_at is None else unlisted_at) if gone else None
            if unlisted_at is not None and (not self._old_alive(before, now) or now.at - unlisted_at >= SETTLE_S):
                return now
            if now.at - before.at >= WITHIN_S:
                return now
            self._clock.wait(POLL_S)

    def _old_alive(self, before: Sample, now: Sample) -> list[Process]:
        """Return the old runners that live though they should not: all, or all but one fewer where several models were loaded."""
        alive = [one for one in before.family.runners if one in now.family.runners]
        several = before.models is not None and len(before.models) > 1
        return [] if several and len(alive) < len(before.family.runners) else alive

    def _proof(self, before: Sample) -> str:
        gone = ", ".join(str(one.pid) for one in before.family.runners)
        return f"no longer listed, and process {gone} is gone" if gone else "no longer listed; the server holds its models itself, so no process had to end"

    def _tell(self, state: str, model: str, message: str, request: int, seconds: float = 0.0, pid: int | None = None) -> None:
        self._teller.tell(LifeSign(state=state, model=model, message=message, seconds=seconds, pid=pid), request=request)
