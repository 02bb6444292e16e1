"""Connection: one call to the server, with a limit for every silence and for every length. No proxy, no redirect, no second server.

Invariant: whatever the server does, a call ends with its answer or with `Trouble`.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Callable, Generator, Iterator
from typing import Any, TypeVar, cast

from kvlab.probe.address import Address
from kvlab.probe.trouble import Trouble

T = TypeVar("T")

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
    (ConnectionRefusedError, "refused", "nobody takes the connection"),
    (socket.gaierror, "refused", "the host's name is not known"),
    (ssl.SSLError, "wrong_answer", "no secure connection is spoken there"),
    (http.client.HTTPException, "wrong_answer", "not an answer in HTTP"),
)


class Connection:
    """One call; `abort` ends it from another thread."""

    def __init__(self, address: Address, silence_s: float) -> None:
        kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(address.host, address.port, timeout=silence_s)
        self._address = address
        self._silence_s = silence_s
        self._socket: socket.socket | None = None
        self._response: http.client.HTTPResponse | None = None
        self._aborted = threading.Event()
        self._late = threading.Event()
        self._taken = 0

    def whole(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """Call and return the JSON object that comes back.

        Raises:
            Trouble: it does not come.
        """
        try:
            with self._within(self._silence_s):
                return self._guarded(lambda: self._whole(method, path, body))
        finally:
            self.close()

    def lines(self, path: str, body: dict[str, Any], left_s: Callable[[], float]) -> Iterator[dict[str, Any]]:
        """POST and yield the JSON objects that come back, a line each, while `left_s()` says that there is time.

        Raises:
            Trouble: the next one does not come.
        """
        try:
            with self._within(left_s()):
                response = self._guarded(lambda: self._sent("POST", path, body, left_s))
                self._checked(response)
                while line := self._guarded(lambda: self._line(response, left_s)):
                    yield line
        finally:
            self.close()

    def abort(self) -> None:
        """End the call now; whoever waits for it gets `Trouble`."""
        self._aborted.set()
        if self._socket is not None:
            with contextlib.suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of the connection; a server takes that for a cancel when it still answers."""
        if self._response is not None:
            self._response.close()
        self._connection.close()

    @contextlib.contextmanager
    def _within(self, seconds: float) -> Generator[None]:
        """End the call after `seconds`, also one that goes on byte by byte."""
        timer = threading.Timer(max(0.0, min(seconds, threading.TIMEOUT_MAX)), self._too_late)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _too_late(self) -> None:
        self._late.set()
        self.abort()

    def _whole(self, method: str, path: str, body: dict[str, Any] | None) -> dict[str, Any]:
        response = self._sent(method, path, body, lambda: self._silence_s)
        raw = response.read(MOST_BYTES + 1)
        if response.status >= 300:
            raise _failed(response.status, raw)
        if len(raw) > MOST_BYTES:
            raise Trouble("wrong_answer", f"{path} returned more than {MOST_BYTES >> 20} MiB")
        return _object(raw, path)

    def _sent(self, method: str, path: str, body: dict[str, Any] | None, left_s: Callable[[], float]) -> http.client.HTTPResponse:
        self._connection.connect()
        self._socket = cast("socket.socket", self._connection.sock)
        # what came before a call is ended is still parsed, so little of it may wait
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, MOST_WAITING)
        if self._aborted.is_set():
            raise OSError
        self._socket.settimeout(self._patience(left_s))
        data = None if body is None else json.dumps(body).encode()
        self._connection.request(method, self._address.path + path, body=data, headers=_HEADERS)
        self._response = self._connection.getresponse()
        return self._response

    def _checked(self, response: http.client.HTTPResponse) -> None:
        if response.status >= 300:
            raise self._guarded(lambda: _failed(response.status, response.read(MOST_OF_A_LINE)))

    def _line(self, response: http.client.HTTPResponse, left_s: Callable[[], float]) -> dict[str, Any] | None:
        if self._socket is not None and not response.isclosed():
            self._socket.settimeout(self._patience(left_s))
        raw = b"\n"
        while raw and not raw.strip():
            raw = response.readline(MOST_OF_A_LINE + 1)
            self._taken += len(raw)
            if self._taken > MOST_OF_A_REPLY:
                raise Trouble("wrong_answer", f"the answer is longer than {MOST_OF_A_REPLY >> 20} MiB")
        if not raw and self._aborted.is_set():
            # ended from here, which looks as if the server had ended it
            raise OSError
        if len(raw) > MOST_OF_A_LINE:
            raise Trouble("wrong_answer", f"a line of the answer is longer than {MOST_OF_A_LINE >> 20} MiB")
        return _object(raw, "the answer") if raw else None

    def _patience(self, left_s: Callable[[], float]) -> float:
        left = left_s()
        if left <= 0:
            raise TimeoutError
        return min(self._silence_s, left)

    def _guarded(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except (Trouble, OSError, http.client.HTTPException, ValueError, AttributeError) as error:
            # a connection that is shut down by another thread shows in many ways, a short answer among them
            if self._late.is_set():
                raise self._stalled() from None
            if self._aborted.is_set():
                raise Trouble("failed", "ended from here") from None
            raise self._trouble(error) from None

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
    """Return the error of a server: its status, and its words when it has some; where else it points is not followed."""
    try:
        words = _object(raw, "").get("error", "")
    except Trouble:
        words = ""
    if status < 400:
        return Trouble("wrong_answer", f"HTTP {status}: it points to another address, which is not followed")
    return Trouble("failed", f"HTTP {status}" + (f": {words[:200]}" if isinstance(words, str) and words else ""))
