"""A run that is killed: writes events, tells the `seq` of what it has written, one a line, and never ends by itself.

`python -m tests.recording.killed_run OUT requests` ends a hundred requests and waits; `... OUT silent` writes the events of one
request and then says nothing more, as a long forward does; `... OUT forgets` leaves without closing the recording.
"""

from __future__ import annotations

import itertools
import sys
import time

from kvlab.events import ChunkRan, Log, RequestBegan, RequestClosed
from kvlab.recording import Recorder
from tests.recording.streams import manifest

REQUESTS = 100
"""Fewer than the parts a run may write at will: every request that was told of is on disk."""


def main(out: str, way: str) -> None:
    recorder = Recorder(manifest(), out=out)
    log = Log()
    for request in itertools.count(1):
        log.request = request
        log.append(RequestBegan(label=f"r{request}", tokens=request))
        for start in range(20):
            log.append(ChunkRan(start=start, end=start + 1))
        if way == "requests":
            log.append(RequestClosed(generated=request))
        seq = -1
        for event in log.drain():
            recorder.write(event)
            seq = event.seq
        print(seq, flush=True)
        if way == "silent" or request == REQUESTS:
            time.sleep(3600)
        if way == "forgets":
            return


if __name__ == "__main__":
    main(*sys.argv[1:])
