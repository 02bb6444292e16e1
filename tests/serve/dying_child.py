"""A runner process that kills itself as `kill -9` would, at the moment that a file names: `load`, or the kind of an event that is about to be recorded."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

from kvlab.events import Event
from kvlab.serve import child
from kvlab.serve.child import Parent, Served
from kvlab.serve.messages import LoadModel


def die_at(moment: str) -> None:
    """End here when it is the moment."""
    if Path(sys.argv[1]).read_text() == moment:
        os.kill(os.getpid(), signal.SIGKILL)


class Mortal(Served):
    """Dies while it loads, or in a request."""

    def __init__(self, message: LoadModel, parent: Parent) -> None:
        die_at("load")
        super().__init__(message, parent)
        self.runner.log.mark = self._mark

    def _mark(self, event: Event) -> None:
        if self.runner.log.request:
            die_at(event.kind)


if __name__ == "__main__":
    child.Served = Mortal
    child.serve(socket.socket(fileno=int(sys.argv[2])))
