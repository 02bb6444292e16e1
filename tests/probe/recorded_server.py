"""A server of Ollama's API that answers from a script, and the world around it: a clock that jumps, processes that come and go."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from kvlab.allocator.process_bytes import ProcessBytes
from kvlab.probe.processes import Family, Process
from kvlab.probe.system_bytes import MachineBytes

MODEL = "lab-27b-mlx"
GIB = 2**30
SERVER = Process(100, 1, "ollama", 1.0)
RUNNER = Process(4242, 100, "ollama runner", 2.0)


class JumpingClock:
    """Waiting costs nothing: the time jumps. What is due meanwhile happens."""

    def __init__(self) -> None:
        self.time = 0.0
        self._due: list[tuple[float, Callable[[], None]]] = []

    def now(self) -> float:
        return self.time

    def wait(self, seconds: float) -> None:
        self.time += seconds
        for item in [item for item in self._due if item[0] <= self.time]:
            self._due.remove(item)
            item[1]()

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        self._due.append((self.time + seconds, do))


@dataclass
class World:
    """What the server and the system would tell. Tests change it."""

    size: int = 18 * GIB
    footprint: int = 19 * GIB
    listed: bool = True
    context: int = 65536
    server: Process | None = SERVER
    runner: Process | None = RUNNER
    swapped_out: int = 0
    grows: int = 0
    """Bytes a request adds to the size and the footprint."""
    swaps: int = 0
    """Bytes a request swaps out."""
    next_pid: int = 5000
    on_ask: Callable[[], Any] | None = None
    """Called for each request; what it returns is answered instead, if it is not None."""
    on_unload: Callable[[], None] | None = None
    answers: dict[str, Any] = field(default_factory=dict)
    """By path: a body, bytes, or STALL, told instead of the usual one."""
    seen: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    stall: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def family(self) -> Family:
        return Family(self.server, (self.runner,) if self.runner else ())

    def process_bytes(self, pid: int) -> ProcessBytes:
        if self.runner and pid == self.runner.pid:
            return ProcessBytes(footprint=self.footprint, resident=self.footprint // 2, anonymous=self.footprint, mapped=GIB)
        return ProcessBytes(footprint=GIB // 16, resident=GIB // 8)

    def machine_bytes(self) -> MachineBytes:
        return MachineBytes(available=8 * GIB, swap_used=0, swapped_in=0, swapped_out=self.swapped_out)

    def listing(self) -> dict[str, Any]:
        entry = {"name": MODEL, "model": MODEL, "size": self.size, "size_vram": self.size, "digest": "0123", "context_length": self.context}
        return {"models": [entry | {"expires_at": "2026-09-20T10:14:10Z", "details": {"format": "safetensors"}}] if self.listed else []}

    def load(self) -> None:
        self.listed = True
        if self.runner is None:
            self.runner = Process(self.next_pid, 100, "ollama runner", float(self.next_pid))
            self.next_pid += 1

    def gone(self) -> None:
        self.listed, self.runner = False, None

    def restart(self) -> str:
        """Begin anew as another process; return what a command that restarts returns when it worked."""
        self.gone()
        self.server = Process(self.next_pid, 1, "ollama", float(self.next_pid))
        self.next_pid += 1
        return ""


STALL = object()


def answer(text: str = "Paris.", **figures: Any) -> list[dict[str, Any]]:
    """Return the pieces of a chat's answer."""
    end = {"done": True, "done_reason": "stop", "prompt_eval_count": 26, "eval_count": 2, "load_duration": 30_000_000}
    end |= {"prompt_eval_duration": 500_000_000, "eval_duration": 250_000_000} | figures
    message = {"role": "assistant", "content": text}
    return [{"message": message, "response": text, "done": False}, {"message": {"role": "assistant", "content": ""}, "response": "", **end}]


def _handler(world: World) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  its name is the library's
            del format, args

        def do_GET(self) -> None:
            with world.lock:
                world.seen.append((self.path, {}))
            usual = {"/api/version": {"version": "0.33.1"}, "/api/ps": world.listing(), "/api/tags": {"models": [{"name": MODEL}]}}
            self._tell(world.answers.get(self.path, usual.get(self.path, (404, {"error": "not found"}))))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with world.lock:
                world.seen.append((self.path, body))
            if body.get("keep_alive") == 0 and not body.get("prompt") and not body.get("messages"):
                # before the answer: a look that follows it must not see half of it
                (world.on_unload or world.gone)()
                self._tell(world.answers.get("unload", {"model": MODEL, "response": "", "done": True, "done_reason": "unload"}))
                return
            told = world.on_ask() if world.on_ask else None
            if told is None:
                with world.lock:
                    world.load()
                    world.size += world.grows
                    world.footprint += world.grows
                    world.swapped_out += world.swaps
                told = answer()
            self._tell(told)

        def _tell(self, told: Any) -> None:
            status, told = told if isinstance(told, tuple) else (200, told)
            if told is STALL:
                world.stall.wait(60)
                return
            if isinstance(told, list):
                raw = b"".join(json.dumps(piece).encode() + b"\n" for piece in told)
            else:
                raw = told if isinstance(told, bytes) else json.dumps(told).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    return Handler


@contextmanager
def serving(world: World) -> Generator[str]:
    """Serve a world; yield its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(world))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        world.stall.set()
        server.shutdown()
        thread.join()
        server.server_close()
