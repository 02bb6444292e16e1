"""One call to the server, with a limit for every silence and for every length. No proxy, no redirect, no second server.

Invariant: whatever the server does, a call ends with its answer or with `Trouble`.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import socket
import ssl
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any, cast

from kvlab.probe.address import Address

MOST_BYTES = 8 << 20
"""Of an answer that comes at once, such as the list of models."""

MOST_OF_A_LINE = 1 << 20
"""Bytes of one line of an answer that comes in pieces."""

MOST_OF_A_REPLY = 64 << 20
"""Bytes of all lines of such an answer: a reply of 100,000 tokens takes some 20 MiB."""

MOST_WAITING = 1 << 17
"""Bytes that the system holds for a reader, about."""

_HEADERS = {"Accept": "application/json", "Accept-Encoding": "identity", "Content-Type": "application/json"}

_MEANINGS: tuple[tuple[type[Exception], str, str], ...] = (
    (ConnectionRefusedError, "refused", "connection refused"),
    (socket.gaierror, "refused", "the host's name is not known"),
    (ssl.SSLError, "wrong_answer", "the TLS handshake failed"),
    (http.client.HTTPException, "wrong_answer", "not an answer in HTTP"),
)


class Trouble(Exception):
    """What a server did instead of answering as the API promises. It becomes a sign of life in the recording, never a crash.

    Attributes:
        state: `refused`, `stalled`, `wrong_answer` or `failed`, as in `kvlab.events.LIFE_SIGNS`.
        message: Details in words, without prompts or answers.
        seconds: The time that was allowed, for a stall; else 0.
    """

    def __init__(self, state: str, message: str, seconds: float = 0.0) -> None:
        super().__init__(f"{state}: {message}")
        self.state = state
        self.message = message
        self.seconds = seconds


class _UntilEnded(io.RawIOBase):
    """What a socket receives until its call is ended: after a shutdown, Linux gives on what a server that never stops goes on sending."""

    def __init__(self, raw: io.RawIOBase, ended: Callable[[], Trouble | None]) -> None:
        self._raw = raw
        self._reason = ended

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if reason := self._reason():
            raise reason
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class Connection:
    """One call; `abort` ends it from another thread."""

    def __init__(self, address: Address, silence_s: float) -> None:
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(address.host, address.port, timeout=silence_s)
        self._connection.response_class = cast("Any", self._response_over)
        self._path = address.path
        self._silence_s = silence_s
        self._socket: socket.socket | None = None
        self._response: http.client.HTTPResponse | None = None
        self._ended: Trouble | None = None

    def whole(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call and return the JSON object that comes back.

        Raises:
            Trouble: it does not come.
        """
        return _object(self._read(method, path, body), path)

    def text(self, path: str) -> str:
        """GET and return the text that comes back.

        Raises:
            Trouble: it does not come.
        """
        return self._read("GET", path, None).decode("utf-8", "replace")

    def lines(self, path: str, body: dict[str, Any], left_s: Callable[[], float]) -> Iterator[dict[str, Any]]:
        """POST and yield the JSON objects that come back, a line each, while `left_s()` says that there is time.

        Raises:
            Trouble: the next one does not come.
        """
        with self._call(left_s()):
            response = self._sent("POST", path, body, left_s())
            taken = 0
            while True:
                if self._socket is not None and not response.isclosed():
                    self._socket.settimeout(self._patience(left_s()))
                raw = response.readline(MOST_OF_A_LINE + 1)
                if not raw:
                    break
                taken += len(raw)
                if taken > MOST_OF_A_REPLY:
                    raise Trouble("wrong_answer", f"the answer is longer than {MOST_OF_A_REPLY >> 20} MiB")
                if len(raw) > MOST_OF_A_LINE:
                    raise Trouble("wrong_answer", f"a line of the answer is longer than {MOST_OF_A_LINE >> 20} MiB")
                if raw.strip():
                    yield _object(raw, "the answer")
            if self._ended is not None:
                # ended from here: the answer just stops, as when the server ends it
                raise self._ended

    def _read(self, method: str, path: str, body: dict[str, Any] | None) -> bytes:
        with self._call(self._silence_s):
            raw = self._sent(method, path, body, self._silence_s).read(MOST_BYTES + 1)
            if len(raw) > MOST_BYTES:
                raise Trouble("wrong_answer", f"{path} returned more than {MOST_BYTES >> 20} MiB")
            if self._ended is not None:
                # cut off from here, it looks like the end
                raise self._ended
            return raw

    def abort(self) -> None:
        """End the call now; its caller gets `Trouble`."""
        self._end(Trouble("failed", "ended from here"))

    def _end(self, reason: Trouble) -> None:
        self._ended = self._ended or reason
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    @contextlib.contextmanager
    def _call(self, seconds: float) -> Generator[None]:
        """End the call after `seconds`, also one that goes on byte by byte; turn its errors into `Trouble`, and close it."""
        timer = threading.Timer(max(0.0, min(seconds, threading.TIMEOUT_MAX)), self._end, (self._stalled(),))
        timer.daemon = True
        timer.start()
        try:
            yield
        except (Trouble, OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            # a connection that is shut down by another thread shows in many ways, a short answer among them
            raise self._ended or self._trouble(error) from None
        finally:
            timer.cancel()
            # closed early, a server takes it for a cancel
            if self._response is not None:
                self._response.close()
            self._connection.close()

    def _sent(self, method: str, path: str, body: dict[str, Any] | None, left: float) -> http.client.HTTPResponse:
        self._connection.connect()
        self._socket = cast("socket.socket", self._connection.sock)
        # what came before a call is ended is still parsed, so little of it may wait
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MOST_WAITING)
        if self._ended is not None:
            raise self._ended
        self._socket.settimeout(self._patience(left))
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(method, self._path + path, body=data, headers=_HEADERS)
        self._response = self._connection.getresponse()
        if self._response.status >= 300:
            raise _failed(self._response.status, self._response.read(MOST_OF_A_LINE))
        return self._response

    def _response_over(self, sock: socket.socket, **how: Any) -> http.client.HTTPResponse:
        response = http.client.HTTPResponse(sock, **how)
        response.fp = io.BufferedReader(_UntilEnded(response.fp.detach(), lambda: self._ended))
        return response

    def _patience(self, left: float) -> float:
        if left <= 0:
            raise TimeoutError
        return min(self._silence_s, left)

    def _trouble(self, error: Exception) -> Trouble:
        """Return what an error of a call means."""
        if isinstance(error, Trouble):
            return error
        if isinstance(error, TimeoutError):
            return self._stalled()
        for kind, state, words in _MEANINGS:
            if isinstance(error, kind):
                return Trouble(state, words)
        return Trouble("failed", f"the connection broke ({type(error).__name__})")

    def _stalled(self) -> Trouble:
        return Trouble("stalled", "no answer in time", self._silence_s)


def _object(raw: bytes, where: str) -> dict[str, Any]:
    try:
        found: Any = json.loads(raw)
    except (ValueError, RecursionError):
        raise Trouble("wrong_answer", f"{where} is not JSON") from None
    if not isinstance(found, dict):
        raise Trouble("wrong_answer", f"{where} is not a JSON object")
    return cast("dict[str, Any]", found)


def _failed(status: int, raw: bytes) -> Trouble:
    """Return the error of a server: its status, and its message when it has one; a redirect is not followed."""
    try:
        words = _object(raw, "").get("error", "")
    except Trouble:
        words = ""
    if status < 400:
        return Trouble("wrong_answer", f"HTTP {status}: it points to another address, which is not followed")
    return Trouble("failed", f"HTTP {status}" + (f": {words[:200]}" if isinstance(words, str) and words else ""))
