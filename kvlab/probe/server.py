"""Server: the calls of Ollama's API that a probe makes, and the plain data that comes back.

Source: Ollama's public API: `/api/version`, `/api/ps`, `/api/tags`, `/api/chat`, `/api/generate`; unloading is a call with `keep_alive` 0 and no prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, cast

from kvlab.importers.api_ps import ListedModel, model_in, wrong_figures
from kvlab.probe.address import Address
from kvlab.probe.connection import Connection, Trouble

QUICK_S = 5.0
"""Seconds in which the list and the version have to come."""

SILENCE_S = 600.0
"""Seconds that a server may be silent while it evaluates a prompt: 317 s were seen for one of 131,072 tokens."""

MOST_MODELS = 1000
"""Models of a list at most: each sample records every one."""


class Forbidden(Exception):
    """A probe that only reads was about to send a server a request."""


class Server:
    """The calls. One that only reads refuses to send a request."""

    def __init__(self, address: Address, *, read_only: bool = False, quick_s: float = QUICK_S, silence_s: float = SILENCE_S) -> None:
        self.address = address
        self.read_only = read_only
        self.quick_s = quick_s
        self.silence_s = silence_s

    def version(self) -> str:
        """Return the server's version.

        Raises:
            Trouble: it does not answer so.
        """
        version = self._quick("/api/version").get("version")
        if not isinstance(version, str):
            raise Trouble("wrong_answer", "/api/version returns no version")
        return version[:60]

    def listed(self) -> tuple[ListedModel, ...]:
        """Return the loaded models.

        Raises:
            Trouble: it does not answer so.
        """
        return tuple(_model(row) for row in _rows(self._quick("/api/ps"), "/api/ps"))

    def installed(self) -> tuple[str, ...]:
        """Return the names of the models it could load.

        Raises:
            Trouble: it does not answer so.
        """
        return tuple(_model(row).name for row in _rows(self._quick("/api/tags"), "/api/tags"))

    def metrics(self) -> str:
        """Return what the server gives Prometheus; "" where it gives nothing, as Ollama."""
        try:
            return Connection(self.address, self.quick_s).text("/metrics")
        except Trouble:
            return ""

    def connection(self) -> Connection:
        """Return a connection for one request whose answer comes in pieces."""
        return Connection(self.address, self.silence_s)

    def stream(self, connection: Connection, path: str, body: dict[str, Any], left_s: Callable[[], float]) -> Iterator[dict[str, Any]]:
        """Send a request and yield the pieces of its answer.

        Raises:
            Forbidden: this probe only reads.
            Trouble: the next piece does not come.
        """
        self.require_may_send()
        yield from connection.lines(path, body, left_s)

    def unload(self, model: str) -> str:
        """Request that the server unloads `model`; return the reason that it gives for its answer: `unload` when it accepted.

        Raises:
            Forbidden: this probe only reads.
            Trouble: it does not answer.
        """
        self.require_may_send()
        body = {"model": model, "prompt": "", "keep_alive": 0, "stream": False}
        return str(Connection(self.address, self.quick_s).whole("POST", "/api/generate", body).get("done_reason", ""))[:60]

    def _quick(self, path: str) -> dict[str, Any]:
        return Connection(self.address, self.quick_s).whole("GET", path)

    def require_may_send(self) -> None:
        """Check that this probe may send requests.

        Raises:
            Forbidden: it only reads.
        """
        if self.read_only:
            raise Forbidden


def _rows(answer: dict[str, Any], path: str) -> list[dict[str, Any]]:
    # a list without a model is null in some versions
    rows: Any = answer.get("models", "") if answer.get("models", "") is not None else []
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in cast("list[Any]", rows)):
        raise Trouble("wrong_answer", f"{path} returns no list of models")
    if len(cast("list[Any]", rows)) > MOST_MODELS:
        raise Trouble("wrong_answer", f"{path} lists more than {MOST_MODELS:,} models")
    return cast("list[dict[str, Any]]", rows)


def _model(row: dict[str, Any]) -> ListedModel:
    listed = model_in(row)
    if not listed.name:
        raise Trouble("wrong_answer", "a model in the list has no name")
    if wrong := wrong_figures(row):
        raise Trouble("wrong_answer", f"the {wrong[0]} of a model in the list is no number of bytes")
    return listed
