"""Responses that watch their client: when it is gone, what it waited for is cancelled; an error before the first piece has a status of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

import anyio
import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from kvlab.errors import KvlabError
from kvlab.serve.exit_cause import RunnerEnded
from kvlab.serve.fair_queue import Busy
from kvlab.serve.scheduler import UnknownModel

Pieces = AsyncGenerator[bytes]

ErrorBody = Callable[[KvlabError, int], bytes]
"""Returns an error as one API has it, with its status."""

STATUS: dict[type[KvlabError], int] = {UnknownModel: 404, Busy: 503, RunnerEnded: 500}
"""The status of an error by its class; of every other one 400: the client can do something about it."""


def status_of(error: KvlabError) -> int:
    """Return the HTTP status of an error."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 400)


def words(error: KvlabError) -> str:
    """Return an error as one line; one that upstream has is in upstream's words."""
    return error.what if isinstance(error, UnknownModel | RunnerEnded) else f"{error.what}: {error.why}; {error.hint}"


def json_bytes(data: object) -> bytes:
    """Return data as JSON."""
    return msgspec.json.encode(data)


class Watched(Response):
    """Sends pieces as they come and ends with its client.

    Args:
        pieces: The body; it is closed in the task that made it, so that what it holds is released in order.
        media_type: Of the body.
        error_body: What an error looks like when nothing was sent yet.
        error_piece: And in the middle of a body.
    """

    def __init__(self, pieces: Pieces, media_type: str, error_body: ErrorBody, error_piece: ErrorBody | None = None) -> None:
        super().__init__(media_type=media_type)
        self._pieces = pieces
        self._error_body = error_body
        self._error_piece = error_piece or error_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        del scope
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_cancel_when_gone, receive, tasks.cancel_scope)
            async with aclosing(self._pieces) as pieces:
                await self._send(pieces, send)
            tasks.cancel_scope.cancel()

    async def _send(self, pieces: Pieces, send: Send) -> None:
        started = False
        try:
            async for piece in pieces:
                if not started:
                    await _start(send, 200, self.media_type or "")
                    started = True
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except KvlabError as error:
            if not started:
                await _start(send, status_of(error), "application/json")
            piece = (self._error_piece if started else self._error_body)(error, status_of(error))
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _start(send: Send, status: int, media_type: str) -> None:
    headers = [(b"content-type", media_type.encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def _cancel_when_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
