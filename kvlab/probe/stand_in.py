"""A stand-in for a server: it speaks Ollama's API on this machine, and behind it a twin counts what a model's cache would hold.

It is for learning and for tests: its replies mean nothing, its sizes are those of a cache that follows the policy it was given, so the right verdict is known.
Requests are served one after another, as a runner with one slot does. It holds its models itself: there is no runner process.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

from kvlab.events import Event, Matched, RequestClosed
from kvlab.lab import Twin, open_twin
from kvlab.policy import Policy
from kvlab.units import binary
from kvlab.workloads import Request

MODEL = "qwen3.8-27b"
VERSION = "0.33.1"
CONTEXT = 65536


@contextmanager
def stand_in(model: str = MODEL, policy: Policy | None = None, *, version: str = VERSION, log: str | Path | None = None, port: int = 0) -> Generator[str]:
    """Serve while the `with` block lasts; its value is the server's URL.

    Args:
        model: A shipped shape (`kvlab.twin`); the server lists it under this name.
        policy: The rules of its cache.
        version: The version that it reports.
        log: A file to which it writes what a server of that kind writes of each request at level INFO.
        port: Where it listens; 0 for any port that is free.

    Raises:
        KvlabError: the model is not known.
        OSError: the port is taken.
    """
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(_Runner(open_twin(model), policy, model, version, None if log is None else Path(log))))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Runner:
    """What the server would have a runner for."""

    def __init__(self, twin: Twin, policy: Policy | None, model: str, version: str, log: Path | None) -> None:
        self._shape = twin.shape
        self._policy = policy or twin.policy
        self._twin: Twin | None = None
        self._log = log
        self._lock = threading.Lock()
        self.model = model
        self.version = version

    def listed(self) -> list[dict[str, Any]]:
        """Return the list of `/api/ps`."""
        with self._lock:
            if self._twin is None:
                return []
            held = self._twin.closing
            size = (held.weights or self._shape.weights_bytes) + held.live + held.snapshots + held.transient
            return [{"name": self.model, "model": self.model, "size": size, "size_vram": size, "context_length": CONTEXT, "details": {"format": "safetensors"}}]

    def unload(self) -> None:
        """Free the model."""
        with self._lock:
            self._twin = None

    def answer(self, request: Request) -> dict[str, Any]:
        """Run a request on the twin and return the figures of its end."""
        with self._lock:
            if self._twin is None:
                self._twin = Twin(self._shape, self._policy)
            events = list(self._twin.step(request))
            self._write(events, self._twin.closing.peak)
        matched = next(event for event in events if isinstance(event, Matched))
        closed = next(event for event in events if isinstance(event, RequestClosed))
        reason = "stop" if closed.stop == "stop_token" else "length"
        return {"done": True, "done_reason": reason, "prompt_eval_count": matched.tokens, "eval_count": closed.generated, "load_duration": 0}

    def _write(self, events: list[Event], peak: int) -> None:
        if self._log is None:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        found = next(event for event in events if isinstance(event, Matched))
        word = "hit" if found.cached else "miss"
        with self._log.open("a", encoding="utf-8") as file:
            begin = f"time={now} level=INFO source="
            figures = f"total={found.tokens} matched={found.matched} cached={found.cached} left={found.left}"
            file.write(f'{begin}prefix_cache.go:100 msg="cache {word}" {figures}\n{begin}pipeline.go:70 msg="peak memory" size="{binary(peak)}"\n')


def _handler(runner: _Runner) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  its name is the library's
            """Say nothing."""
            del format, args

        def do_GET(self) -> None:
            """Answer what only reads."""
            answers = {"/api/version": {"version": runner.version}, "/api/ps": {"models": runner.listed()}, "/api/tags": {"models": [{"name": runner.model}]}}
            found = answers.get(self.path)
            self._send([found or {"error": "not found"}], 200 if found else 404)

        def do_POST(self) -> None:
            """Answer a request, or unload."""
            body = self._body()
            if self.path not in ("/api/chat", "/api/generate") or body is None:
                self._send([{"error": "not found"}], 404)
            elif not body.get("messages") and not body.get("prompt"):
                if body.get("keep_alive") == 0:
                    runner.unload()
                self._send([{"model": runner.model, "response": "", "done": True, "done_reason": "unload" if body.get("keep_alive") == 0 else "load"}])
            else:
                request = _request(body)
                end = runner.answer(request)
                words = f"(a stand-in's reply of {end['eval_count']} tokens)"
                self._send([_piece(words, done=False), _piece("", done=True) | end])

        def _body(self) -> dict[str, Any] | None:
            try:
                found: Any = json.loads(self.rfile.read(int(self.headers.get("Content-Length", "0"))))
            except ValueError:
                return None
            return cast("dict[str, Any]", found) if isinstance(found, dict) else None

        def _send(self, pieces: list[dict[str, Any]], status: int = 200) -> None:
            raw = b"".join(json.dumps(piece).encode() + b"\n" for piece in pieces)
            self.send_response(status)
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    return Handler


def _piece(words: str, *, done: bool) -> dict[str, Any]:
    # both calls' shapes at once: a client reads the one it knows
    return {"message": {"role": "assistant", "content": words}, "response": words, "done": done}


def _request(body: dict[str, Any]) -> Request:
    most = int(body.get("options", {}).get("num_predict", 32))
    if body.get("messages"):
        return Request(messages=tuple((str(one["role"]), str(one["content"])) for one in body["messages"]), max_new=most)
    return Request(prompt=str(body["prompt"]), max_new=most)
