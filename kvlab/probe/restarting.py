"""Restarting the server that is probed (experiment E2), and whether it happened.

A probe restarts nothing by itself: it runs the command that the user allowed, or prompts the user and waits, bounded, with a sample every `SAMPLE_S`.
Proof: the server's process is another one, it answers, and the processes that held the model are gone. Where the server's process cannot be
seen, one that stopped answering and answers again counts as restarted, and nothing says that its runners ended.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Callable

from tqdm.auto import tqdm

from kvlab.errors import BadValue
from kvlab.probe.changes import SETTLE_S
from kvlab.probe.monitor import Monitor
from kvlab.probe.processes import Process
from kvlab.probe.sample import Sample
from kvlab.probe.writer import EventWriter

WAIT_S = 300.0
"""Seconds in which a server has to be back, another process."""

SAMPLE_S = 2.0
"""Seconds between two samples meanwhile."""

COMMAND_S = 120.0
"""Seconds that the user's command may take."""

HOW = (
    "macOS: brew services restart ollama (the app: quit Ollama in the menu bar and open it again)",
    "Linux: sudo systemctl restart ollama",
    "started by hand: end `ollama serve` with Ctrl-C in its window and start it again",
)
"""How a user restarts Ollama."""

Restart = Callable[[], str]
"""Restarts the server; returns "" or why it did not work."""

Prompt = Callable[[str], None]
"""Shows the user what to do."""


def prompt_on_terminal(words: str) -> None:
    """Write `words` on standard error, above a progress bar that is drawn there."""
    tqdm.write(words, file=sys.stderr)


def restart_by(command: str) -> Restart:
    """Return what restarts the server by a command of the user's, run as it is, without a shell.

    Raises:
        BadValue: it is no command.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise BadValue(what=f"{command!r} is no command", why=str(error).lower(), hint='write for example "sudo systemctl restart ollama"') from None
    if not words:
        raise BadValue(what="the command that restarts the server is empty", why="it is run as it is", hint='write for example "sudo systemctl restart ollama"')

    def run() -> str:
        try:
            # what it prints is not kept: a server that it leaves in the background would hold the pipe open
            done = subprocess.run(words, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=COMMAND_S)
        except subprocess.TimeoutExpired:
            return f"the command did not end within {COMMAND_S:g} s"
        except OSError as error:
            return f"the command could not be run: {(error.strerror or 'unknown').lower()}"
        return "" if done.returncode == 0 else f"the command ended with {done.returncode}"

    return run


class Restarting:
    """Has the server restarted and looks for the proof."""

    def __init__(self, monitor: Monitor, writer: EventWriter, restart: Restart | None, prompt: Prompt, wait_s: float) -> None:
        self._monitor = monitor
        self._writer = writer
        self._restart = restart
        self._prompt = prompt
        self._wait_s = wait_s

    def restart(self, model: str, request: int, left_s: float) -> Sample | None:
        """Have it restarted within `left_s` seconds; return the sample before, None when it was not restarted."""
        before = self._monitor.sample([request])
        within = max(0.0, min(self._wait_s, left_s))
        how = "by the command that was allowed" if self._restart else f"by the user, within {within:.0f} s" if within else "skipped"
        self._writer.sign("restart_asked", how, request, model=model)
        refused = self._restart() if self._restart else "" if within else "left out: no time is given for it"
        if refused:
            self._writer.sign("not_restarted", refused, request, model=model)
            return None
        if self._restart is None:
            self._prompt(_please(before, within))
        now, silent = self._wait(before, within, request)
        waited = now.at - before.at
        why_not = _why_not(before, now, silent=silent)
        if why_not:
            self._writer.sign("not_restarted", why_not, request, model=model, seconds=waited)
            return None
        if self._restart is None:
            self._prompt("kvlab: the server is back; the run goes on")
        self._prove(before, now, model, request)
        return before

    def _wait(self, before: Sample, within: float, request: int) -> tuple[Sample, bool]:
        """Take samples until the server is back, or the time is over; return the last one, and whether the server was silent in one of them."""
        # after a command that worked, one that cannot be seen was silent between two samples
        silent = self._restart is not None
        while True:
            now = self._monitor.sample([request])
            silent = silent or now.trouble is not None
            if not _why_not(before, now, silent=silent) or now.at - before.at >= within:
                return now, silent
            self._writer.clock.wait(min(SAMPLE_S, max(0.1, within - (now.at - before.at))))

    def _prove(self, before: Sample, now: Sample, model: str, request: int) -> None:
        back = now.at
        while (old := _old(before, now)) and now.at - back < SETTLE_S:
            self._writer.clock.wait(min(SAMPLE_S, SETTLE_S))
            now = self._monitor.sample([request])
        waited = now.at - before.at
        server = now.family.server
        if old:
            if not self._monitor.knows_left_behind(old[0]):
                words = "the server is another process, and the process that held the model is still there"
                self._writer.sign("left_behind", words, request, model=model, seconds=waited, pid=old[0].pid)
        elif server and before.family.server:
            runners = ", ".join(str(one.pid) for one in before.family.runners)
            gone = f"; process {runners}, which held the model, is gone" if runners else ""
            words = f"restarted: the server was process {before.family.server.pid} and is process {server.pid}{gone}"
            self._writer.sign("unload_verified", words, request, model=model, seconds=waited)
        else:
            words = "the server stopped answering and is back; its processes cannot be seen, so nothing proves more"
            self._writer.sign("unlisted", words, request, model=model, seconds=waited)
        self._monitor.settled([request])


def _old(before: Sample, now: Sample) -> list[Process]:
    return [one for one in before.family.runners if one in now.family.runners]


def _why_not(before: Sample, now: Sample, *, silent: bool) -> str:
    """Return why the server does not count as restarted and back; "" when it does."""
    was, is_now = before.family.server, now.family.server
    if was is not None and is_now == was:
        return f"the server is still process {was.pid}"
    if now.models is None:
        return "the server does not answer"
    if was is None and not silent:
        return "its process cannot be seen from here, and it never stopped answering"
    return ""


def _please(before: Sample, within: float) -> str:
    server = before.family.server
    whose = f" (process {server.pid})" if server else ""
    return "\n".join([f"kvlab: please restart the server{whose} now; the run waits up to {within:.0f} s for it", *(f"  {how}" for how in HOW)])
