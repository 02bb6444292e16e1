"""Turns on a runner: one at a time, clients in turn, and nobody waits for ever."""

from __future__ import annotations

import anyio
import pytest

from kvlab.serve.fair_queue import Busy, FairQueue


def served(arrivals: list[str], most: int = 1000) -> list[str]:
    """Return the order in which requests of these clients have their turn when all arrive while another one runs."""
    order: list[str] = []

    async def one(queue: FairQueue, client: str) -> None:
        async with queue.turn(client):
            assert queue.running == client
            order.append(client)

    async def run() -> None:
        queue = FairQueue(most)
        async with anyio.create_task_group() as tasks, queue.turn("first"):
            for client in arrivals:
                tasks.start_soon(one, queue, client)
                await anyio.lowlevel.checkpoint()
                await anyio.lowlevel.checkpoint()
            assert len(queue) == len(arrivals)
        assert queue.running is None
        assert len(queue) == 0

    anyio.run(run)
    return order


def test_of_one_client_the_first_is_first() -> None:
    assert served(["a", "b", "c"]) == ["a", "b", "c"]


def test_one_client_with_many_requests_does_not_hold_up_another() -> None:
    assert served(["a"] * 5 + ["b", "c", "b"]) == ["a", "b", "c", "a", "b", "a", "a", "a"]


def test_at_any_moment_no_waiting_client_has_had_two_turns_fewer() -> None:
    order = served([client for client in "abcdefgh" for _ in range(5)])
    for end in range(1, len(order) + 1):
        turns = [order[:end].count(client) for client in "abcdefgh"]
        assert max(turns) - min(turns) <= 1


def test_too_many_are_refused() -> None:
    with pytest.raises(ExceptionGroup) as refused:
        served(["a", "b", "c"], most=2)
    (error,) = refused.value.exceptions
    assert isinstance(error, Busy)
    assert "server busy" in error.what


def test_who_leaves_the_queue_or_gets_its_turn_while_leaving_passes_it_on() -> None:
    async def run() -> None:
        queue, order = FairQueue(10), list[str]()

        async def one(client: str) -> None:
            async with queue.turn(client):
                order.append(client)

        async with anyio.create_task_group() as tasks:
            leaving = anyio.CancelScope()
            late = anyio.CancelScope()

            async def cancelled(scope: anyio.CancelScope, client: str) -> None:
                with scope:
                    await one(client)

            async with queue.turn("first"):
                tasks.start_soon(cancelled, leaving, "leaves")
                tasks.start_soon(cancelled, late, "late")
                tasks.start_soon(one, "stays")
                await anyio.wait_all_tasks_blocked()
                leaving.cancel()
                await anyio.wait_all_tasks_blocked()
                assert len(queue) == 2
            # its turn has come; whether it still takes it is up to the loop
            late.cancel()
        assert [client for client in order if client != "late"] == ["stays"]
        assert queue.running is None

    anyio.run(run)
