"""Who calls: the client of a request, for the queue, and which clients of other machines or web pages may call at all."""

from __future__ import annotations

import ipaddress
import re
from typing import cast
from urllib.parse import urlsplit

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from kvlab.serve.scheduler import Scheduler

LOCAL_NAME = re.compile(r"localhost|.+\.localhost")


def scheduler_of(request: Request) -> Scheduler:
    """Return the server's scheduler."""
    return cast("Scheduler", request.app.state.scheduler)


def client_of(request: Request) -> str:
    """Return whose request it is: its key where one is sent, else its connection. Clients take turns on a runner."""
    key = request.headers.get("authorization", "")
    return key or (f"{request.client.host}:{request.client.port}" if request.client else "")


def is_local(host: str) -> bool:
    """Return whether a name or number is this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return LOCAL_NAME.fullmatch(host.lower()) is not None


class LocalOnly:
    """Refuses what web pages of other machines send: a browser lets them call this machine, and DNS rebinding gives them its name.

    Args:
        app: The application.
        any_host: The server listens for other machines too, so any name of it is right.
        origins: Web pages that may call all the same; `*` for all.
    """

    def __init__(self, app: ASGIApp, *, any_host: bool, origins: tuple[str, ...] = ()) -> None:
        self._app = app
        self._any_host = any_host
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and (refusal := self._refusal(Request(scope))):
            await Response(msgspec.json.encode({"error": refusal}), 403, media_type="application/json")(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, request: Request) -> str:
        host = _host_of(f"//{request.headers.get('host', '')}")
        if not self._any_host and not is_local(host):
            return f"the request is for the host {host!r}, and this server answers as localhost only"
        origin = request.headers.get("origin", "")
        if origin and not is_local(_host_of(origin)) and not {"*", origin} & set(self._origins):
            return f"web pages of {origin!r} may not call this server; OLLAMA_ORIGINS names those that may"
        return ""


def _host_of(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
