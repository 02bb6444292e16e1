"""The server: its routes, its scheduler's life, and how it listens."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import cast

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from kvlab.errors import KvlabError, NotAvailable
from kvlab.output_file import reason, unwritable
from kvlab.serve import metrics, ollama_api, openai_api
from kvlab.serve.client import LocalOnly, is_local
from kvlab.serve.keep_alive import Clock
from kvlab.serve.responses import status_of
from kvlab.serve.runner_process import RunnerProcess
from kvlab.serve.scheduler import Scheduler, Start
from kvlab.serve.settings import Settings

GRACE_S = 2
"""Seconds that running answers have when the server ends; then they are cut."""


def make_app(settings: Settings, *, any_host: bool = False, clock: Clock | None = None, start: Start = RunnerProcess) -> Starlette:
    """Return the application.

    Args:
        settings: What the server is started with.
        any_host: It listens for other machines too.
        clock: What keep-alive goes by.
        start: Makes a runner.
    """

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as tasks:
            app.state.scheduler = scheduler = Scheduler(settings, tasks, clock, start)
            try:
                yield
            finally:
                with anyio.CancelScope(shield=True):
                    await scheduler.close()
                tasks.cancel_scope.cancel()

    routes = [Route("/", _alive, methods=["GET", "HEAD"]), *ollama_api.ROUTES, *openai_api.ROUTES, *metrics.ROUTES]
    guard = Middleware(LocalOnly, any_host=any_host, origins=settings.origins)
    return Starlette(routes=routes, middleware=[guard], lifespan=lifespan, exception_handlers={KvlabError: _refused})


async def _refused(request: Request, error: Exception) -> Response:
    """Answer with an error that came before a body was begun, in the form of the API that was called."""
    known = cast("KvlabError", error)
    form = openai_api if request.url.path.startswith("/v1/") else ollama_api
    status = status_of(known)
    return Response(form.error_body(known, status), status, media_type="application/json")


async def _alive(request: Request) -> Response:
    del request
    # the words by which clients of upstream's know a server
    return PlainTextResponse("Ollama is running")


def bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to `host` and `port`; 0 for any free port.

    Raises:
        NotAvailable: the port is taken, or the host is none of this machine's.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        made = socket.socket(family, socket.SOCK_STREAM)
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
        except BaseException:
            made.close()
            raise
    except (OSError, OverflowError, UnicodeError) as error:
        raise NotAvailable(
            what=f"no server can listen on {host}:{port}",
            why=reason(error) if isinstance(error, OSError) else str(error),
            hint="stop what listens there (an Ollama does on 11434), or choose another --port",
        ) from None
    return made


def serve(
    settings: Settings, host: str, port: int, *, ready: Callable[[str, uvicorn.Server], None], start: Start = RunnerProcess, clock: Clock | None = None
) -> None:
    """Serve until a signal ends it; `ready` is called with the server's address, before the first request is taken.

    Raises:
        NotAvailable: the port is taken.
        UnreadableInput: the recordings' folder cannot be made.
    """
    if settings.out is not None:
        try:
            settings.out.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unwritable(settings.out, reason(error)) from None
    app = make_app(settings, any_host=not is_local(host), clock=clock, start=start)
    config = uvicorn.Config(app, log_config=None, access_log=False, lifespan="on", timeout_graceful_shutdown=GRACE_S, ws="none", server_header=False)
    with contextlib.closing(bound(host, port)) as listening:
        server = uvicorn.Server(config)
        shown = f"[{host}]" if ":" in host else host
        ready(f"http://{shown}:{listening.getsockname()[1]}", server)
        server.run(sockets=[listening])
