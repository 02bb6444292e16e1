"""Many clients at once on one model, half of whose requests are left in the middle: each answer is its own, turns are fair, and no byte stays behind."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Generator
from itertools import product, takewhile
from random import Random
from string import ascii_lowercase
from typing import Any

import anyio
import httpx
import mlx.core as mx
import pytest
from mlx_lm.generate import generate_step

from kvlab.models import open_model
from kvlab.models.mlx_model import MLXModel
from tests.serve.conftest import MODEL, Server, figures, serving, until

NEW = 24

SHARED = "The captain looked at the sea and had nothing to say of it; the evening was fine. "


def prompt(client: int, turn: int) -> str:
    return f"{SHARED}Mr {''.join(Random(client * 1000 + turn).choices(ascii_lowercase, k=12))}"


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with serving(tmp_path_factory.mktemp("crowd")) as found:
        yield found


class Crowd:
    """Clients that all send all their requests at once, each over two connections; who leaves reads one piece.

    Attributes:
        answers: By client and turn, of those who stayed.
        order: Whose request was answered, in order.
    """

    def __init__(self, server: Server, clients: int, each: int) -> None:
        self._server = server
        self._clients = clients
        self._each = each
        self.answers: dict[tuple[int, int], str] = {}
        self.order: list[int] = []

    async def run(self) -> None:
        with anyio.fail_after(600):
            async with anyio.create_task_group() as tasks:
                for client in range(self._clients):
                    tasks.start_soon(self._client, client)

    async def _client(self, client: int) -> None:
        key, limits = {"authorization": f"Bearer {client}"}, httpx.Limits(max_connections=2)
        async with httpx.AsyncClient(base_url=self._server.url, headers=key, limits=limits, timeout=None) as http, anyio.create_task_group() as tasks:  # noqa: S113
            for turn in range(self._each):
                tasks.start_soon(self._send, http, client, turn)

    async def _send(self, http: httpx.AsyncClient, client: int, turn: int) -> None:
        body: dict[str, Any] = {"model": MODEL, "prompt": prompt(client, turn), "raw": True, "options": {"temperature": 0, "num_predict": NEW}}
        async with http.stream("POST", "/api/generate", json=body) as answer:
            assert answer.status_code == 200
            text = ""
            async for line in answer.aiter_lines():
                piece = json.loads(line)
                text += piece["response"]
                if leaves(client, turn):
                    break
            else:
                self.answers[client, turn] = text
        self.order.append(client)


def leaves(client: int, turn: int) -> bool:
    return (client + turn) % 2 == 1


@pytest.mark.parametrize(("clients", "each"), [(10, 3), pytest.param(100, 5, marks=pytest.mark.full)])
def test_each_answer_is_its_own_turns_are_fair_and_no_byte_stays(crowded: Server, clients: int, each: int) -> None:
    crowd = Crowd(crowded, clients, each)
    anyio.run(crowd.run)
    stayed = [one for one in product(range(clients), range(each)) if not leaves(*one)]
    assert sorted(crowd.answers) == stayed
    # mlx-lm alone, with an empty cache for each prompt
    model = open_model(MODEL)
    expected = {one: alone(model, prompt(*one)) for one in stayed}
    assert crowd.answers == expected
    # answers differ, so that another's would be noticed
    assert len(set(expected.values())) > len(stayed) / 2
    for end in range(clients, len(crowd.order)):
        had = Counter(crowd.order[:end])
        assert max(had.values()) <= 2 * min(had[client] for client in range(clients))
    until(lambda: not figures(crowded, "kvlab_running_requests"))
    assert figures(crowded, "kvlab_waiting_requests") == 0
    # what is in use belongs to someone, to within some small arrays
    assert figures(crowded, "kvlab_bytes", owner="unattributed") < 4096
    assert figures(crowded, "kvlab_counted_bytes") <= figures(crowded, "kvlab_budget_bytes")


def alone(model: MLXModel, text: str) -> str:
    """Return what mlx-lm generates."""
    tokenizer = model.tokenizer
    tokens = [int(token) for token, _ in generate_step(mx.array(tokenizer.encode(text)), model.net, max_tokens=NEW)]
    decoder = tokenizer.decoder()
    return "".join(decoder.add(token) for token in takewhile(lambda token: token not in model.stop_tokens, tokens)) + decoder.finish()
