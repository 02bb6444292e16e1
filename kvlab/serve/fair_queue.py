"""Fair queue: whose turn it is on a runner that serves one request at a time. Clients take turns; of one client, the request that came first."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio

from kvlab.errors import NotAvailable


class Busy(NotAvailable):
    """More requests wait than the server lets wait (HTTP 503)."""


class FairQueue:
    """Gives turns.

    Args:
        most: Requests that may wait.

    Attributes:
        running: The client whose turn it is; None when nobody's.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._waiting: OrderedDict[str, deque[anyio.Event]] = OrderedDict()
        self.running: str | None = None

    def __len__(self) -> int:
        """How many wait."""
        return sum(map(len, self._waiting.values()))

    @asynccontextmanager
    async def turn(self, client: str) -> AsyncGenerator[None]:
        """Wait for a turn and hold it.

        Raises:
            Busy: too many wait.
        """
        if self.running is None:
            self.running = client
        else:
            await self._wait(client)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, client: str) -> None:
        if len(self) >= self._most:
            raise Busy(
                what="server busy, please try again",
                why=f"{len(self)} requests wait, as many as may",
                hint="send it again later, or set OLLAMA_MAX_QUEUE to let more wait",
            )
        called = anyio.Event()
        self._waiting.setdefault(client, deque()).append(called)
        try:
            await called.wait()
        except BaseException:
            if called.is_set():
                # the turn came at the moment at which its request was cancelled
                self._pass_on()
            else:
                self._leave(client, called)
            raise

    def _leave(self, client: str, called: anyio.Event) -> None:
        line = self._waiting[client]
        line.remove(called)
        if not line:
            del self._waiting[client]

    def _pass_on(self) -> None:
        if self.running in self._waiting:
            # who has just had a turn comes after all who wait
            self._waiting.move_to_end(self.running)
        self.running = next(iter(self._waiting), None)
        if self.running is not None:
            line = self._waiting[self.running]
            line.popleft().set()
            if line:
                # its next request comes after one of every other client
                self._waiting.move_to_end(self.running)
            else:
                del self._waiting[self.running]
