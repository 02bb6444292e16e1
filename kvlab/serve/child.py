"""The runner process: loads one model, runs one request at a time, and sends every event to its parent.

Two threads: this one runs requests; another one reads what the parent sends, so that a cancel arrives and a ping is answered during a long prefill.
When the parent is gone, so is the connection, and the process ends.
"""

from __future__ import annotations

import argparse
import importlib
import os
import queue
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from kvlab.errors import KvlabError
from kvlab.events import ChunkRan, Event, Log, Matched, RequestClosed, TokenOut
from kvlab.policy import Policy
from kvlab.serve.messages import (
    AnyMessage,
    Cancel,
    Events,
    Failed,
    Finished,
    Generate,
    Inbox,
    LoadModel,
    Ping,
    Ready,
    Status,
    encode,
    pack_event,
)

if TYPE_CHECKING:
    from kvlab.lab.source import Prediction
    from kvlab.models.mlx_model import MLXModel
    from kvlab.runner.runner import Runner

SENT_AT_ONCE = (TokenOut, ChunkRan, Matched, RequestClosed)
"""Events that someone may be waiting for: they are sent with all those before them."""

MOST_HELD = 256
"""Events that are held back for a message of several."""

PIECE = 2**16


class Parent:
    """The connection to the parent.

    Attributes:
        todo: Messages that the main thread acts on.
        cancelled: The latest request that is to end; requests come one after another.
        running: The request that runs; 0 for none.
        read_bytes: Returns the allocator's active and free bytes; (None, None) while nothing is loaded.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._sending = threading.Lock()
        self.todo: queue.SimpleQueue[LoadModel | Generate] = queue.SimpleQueue()
        self.cancelled = 0
        self.running = 0
        self.read_bytes: Callable[[], tuple[int | None, int | None]] = lambda: (None, None)

    def send(self, message: AnyMessage) -> None:
        """Send a message; any thread may."""
        with self._sending:
            self._connection.sendall(encode(message))

    def listen(self) -> None:
        """Read messages until the parent is gone, then end the process, whatever it does."""
        inbox = Inbox()
        try:
            while piece := self._connection.recv(PIECE):
                for message in inbox.add(piece):
                    self._take(message)
        finally:
            os._exit(0)

    def _take(self, message: AnyMessage) -> None:
        match message:
            case Ping():
                active, pool = self.read_bytes()
                self.send(Status(self.running, active, pool))
            case Cancel():
                self.cancelled = message.number
            case LoadModel() | Generate():
                self.todo.put(message)
            case _:
                pass


class Served:
    """A loaded model with its runner."""

    def __init__(self, message: LoadModel, parent: Parent) -> None:

        from kvlab.lab.lab import default_policy
        from kvlab.lab.twin import shadow
        from kvlab.models import open_model
        from kvlab.runner.runner import Runner

        # its import takes seconds, which the first answer need not wait for
        importlib.import_module("mlx_lm.sample_utils")
        self._parent = parent
        self.model: MLXModel = open_model(message.model, accept_licence=message.accept_licence)
        policy = Policy.from_dict(message.policy)
        if not message.own_chunk:
            policy = policy.replace(prefill_chunk=default_policy(self.model.origin.get("device", "")).prefill_chunk)
        self.began = time.perf_counter()
        self.runner: Runner = Runner(self.model, policy, Log("lab"))
        self.runner.token_texts = message.store_text
        self._predict: Prediction = shadow(self.model.shape, policy)
        parent.read_bytes = self._read_bytes

    def ready(self) -> Ready:
        """Return the message that the model is loaded."""
        from kvlab.serve.prompt import calls_tools

        model = self.model
        origin = {name: str(value) for name, value in model.origin.items()}
        return Ready(model.name, model.shape.to_dict(), origin, self.runner.policy.to_dict(), model.shape.context, self.began, calls_tools(model))

    def send_waiting(self) -> None:
        """Send the events that no request yields, such as those of the load."""
        self._parent.send(Events(tuple(map(pack_event, self.runner.log.drain()))))

    def run(self, message: Generate) -> None:
        """Run a request and send its events.

        Raises:
            KvlabError: the request cannot be run.
        """
        from kvlab.serve.prompt import request_of

        if self._parent.cancelled == message.number:
            return
        request = request_of(message, self.model)
        held: list[Event] = []
        for event in self.runner.step(request):
            if self._parent.cancelled == message.number:
                self.runner.cancel()
            held.append(event)
            if isinstance(event, SENT_AT_ONCE) or len(held) >= MOST_HELD:
                self._send(held)
            if isinstance(event, RequestClosed):
                # after the answer's end was sent: nobody waits for the simulation
                self._predict(self.runner, request, event.stop)
        held += self.runner.log.drain()
        self._send(held)

    def _send(self, held: list[Event]) -> None:
        self._parent.send(Events(tuple(map(pack_event, held))))
        held.clear()

    def _read_bytes(self) -> tuple[int | None, int | None]:
        reading = self.model.meter.read()
        return reading.active, reading.pool


def main() -> None:
    """Serve the parent whose end of the connection is the file descriptor that the command line names."""
    parser = argparse.ArgumentParser(description="A runner process of kvlab serve; it is started by the server.")
    parser.add_argument("descriptor", type=int)
    # an interruption ends it at once, as it ends upstream's runner
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    serve(socket.socket(fileno=parser.parse_args().descriptor))


def serve(connection: socket.socket) -> None:
    """Answer messages; returns when the model cannot be loaded."""
    parent = Parent(connection)
    threading.Thread(target=parent.listen, name="kvlab-parent", daemon=True).start()
    served: Served | None = None
    while True:
        message = parent.todo.get()
        number = message.number if isinstance(message, Generate) else 0
        parent.running = number
        try:
            if isinstance(message, LoadModel):
                served = Served(message, parent)
                parent.send(served.ready())
                served.send_waiting()
            elif served is not None:
                served.run(message)
        except KvlabError as error:
            parent.send(Failed(number, type(error).__name__, error.what, error.why, error.hint))
            if served is None:
                return
        finally:
            parent.running = 0
        parent.send(Finished(number))


if __name__ == "__main__":
    main()
