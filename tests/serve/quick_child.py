"""A runner process that loads no model: it takes a lock on the file that its first argument names, and says in that file when another runner held it."""

from __future__ import annotations

import fcntl
import os
import socket
import sys
import time
from pathlib import Path

from kvlab.events import Loaded
from kvlab.serve.child import Parent
from kvlab.serve.messages import Events, Ready, pack_event
from kvlab.shape import hybrid27

if __name__ == "__main__":
    parent = Parent(socket.socket(fileno=int(sys.argv[2])))
    held = os.open(Path(sys.argv[1]), os.O_RDWR | os.O_APPEND)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.write(held, b"two at once\n")
    parent.send(Ready("quick", hybrid27().to_dict(), {}, {}, 4096, time.perf_counter(), tools=False))
    parent.send(Events((pack_event(Loaded()),)))
    # until it is killed or its parent is gone
    parent.listen()
