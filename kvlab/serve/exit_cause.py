"""Why a runner process ended: an exit code, a signal, or the system's want of memory (resident bytes), with the last line that it wrote."""

from __future__ import annotations

import re
import signal
from dataclasses import dataclass
from pathlib import Path

from kvlab.errors import NotAvailable

TAIL_BYTES = 2**16
"""Bytes of a runner's stderr that are searched for its last line."""

_NO_ROOM = re.compile(r"MemoryError|out of memory|Insufficient Memory|bad_alloc|failed to allocate|Unable to allocate", re.IGNORECASE)


class RunnerEnded(NotAvailable):
    """The runner process ended before the request did (HTTP 500)."""


@dataclass(frozen=True, slots=True)
class ExitCause:
    """How a process ended.

    Attributes:
        code: Its exit code; None when a signal ended it.
        signal: The signal's name; "" for none.
        ordered: The server closed it.
        out_of_memory: It or the system found no room for its bytes.
        last_line: The last line that it wrote to stderr.
    """

    code: int | None
    signal: str
    ordered: bool
    out_of_memory: bool
    last_line: str

    def __str__(self) -> str:
        if self.ordered:
            return "closed by the server"
        how = self.signal or f"exit code {self.code}"
        return f"{how}, out of memory (resident bytes)" if self.out_of_memory else how

    def error(self, model: str) -> RunnerEnded:
        """Return the error for whoever waits for this runner."""
        if self.ordered:
            hint = "send the request again: the model is loaded anew"
        elif self.out_of_memory:
            hint = "use a smaller model or a smaller budget, or unload other models"
        else:
            hint = "send the request again: the model is loaded anew; the server's log has what the runner wrote"
        return RunnerEnded(what=f"mlx runner failed: {self.last_line or model} (exit: {self})", why=f"the process that held {model} has ended", hint=hint)


def exit_cause(returncode: int, stderr: bytes, *, ordered: bool, kills: int) -> ExitCause:
    """Return why a process ended.

    Args:
        returncode: As `subprocess` gives it: the exit code, or a signal's number below 0.
        stderr: The end of what it wrote.
        ordered: The server ended it.
        kills: Processes that the system has killed for memory since this one began.
    """
    text = stderr.decode("utf-8", "replace")
    name = signal.Signals(-returncode).name if returncode < 0 else ""
    short = not ordered and (bool(_NO_ROOM.search(text)) or (name == "SIGKILL" and kills > 0))
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return ExitCause(None if name else returncode, name, ordered, short, lines[-1] if lines else "")


def kills_for_memory(vmstat: Path = Path("/proc/vmstat")) -> int:
    """Return how many processes the system has killed for want of memory since it started; 0 where it does not count them."""
    try:
        found = re.search(r"^oom_kill (\d+)$", vmstat.read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0
