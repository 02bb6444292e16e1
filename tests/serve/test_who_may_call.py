"""Web pages of other machines, names that lead here by DNS rebinding, and bodies of any kind: each a refusal with words, none a failure of the server."""

from __future__ import annotations

import json
from collections.abc import Generator
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from tests.serve.conftest import MODEL, Server, serving
from tests.serve.fakes import FakeRunner

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=6,
)

MESSAGE = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["user", "assistant", "system", "tool", "x"]) | JSON,
        "content": st.text(max_size=8) | JSON,
        "tool_calls": JSON,
        "images": JSON,
        "name": JSON,
    },
)

BODY = st.fixed_dictionaries(
    {"model": st.just(MODEL) | st.just(MODEL) | JSON},
    optional={
        "prompt": st.text(max_size=8) | JSON,
        "messages": st.lists(MESSAGE, max_size=3) | JSON,
        "stream": st.booleans() | JSON,
        "options": st.dictionaries(st.sampled_from(["temperature", "top_k", "top_p", "seed", "num_predict", "stop", "x"]), JSON) | JSON,
        "keep_alive": st.sampled_from(["5m", "-1", 0, -1, 60]) | JSON,
        "tools": JSON,
        "format": JSON,
        "think": JSON,
        "raw": JSON,
        "system": JSON,
        "suffix": JSON,
        "max_tokens": JSON,
        "temperature": JSON,
        "stop": JSON,
        "stream_options": JSON,
        "n": JSON,
        "name": JSON,
    },
)

CALLS = ("/api/generate", "/api/chat", "/api/show", "/v1/chat/completions", "/v1/completions")


@pytest.fixture(scope="module")
def fake() -> Generator[Server]:
    """A server whose runners answer without a model."""
    with serving(None, FakeRunner, origins=("https://allowed.example",)) as found:
        yield found


@pytest.fixture(scope="module")
def client(fake: Server) -> Generator[httpx.Client]:
    with httpx.Client(base_url=fake.url) as found:
        yield found


@settings(max_examples=300)
@given(call=st.sampled_from(CALLS), body=BODY)
def test_any_body_is_answered_or_refused_with_words(client: httpx.Client, call: str, body: dict[str, Any]) -> None:
    _check(client.post(call, content=json.dumps(body)))


@settings(max_examples=100)
@given(call=st.sampled_from(CALLS), raw=st.binary(max_size=40) | st.just(b"[" * 100_000))
def test_any_bytes_are_refused_with_words(client: httpx.Client, call: str, raw: bytes) -> None:
    _check(client.post(call, content=raw))


def _check(answer: httpx.Response) -> None:
    assert answer.status_code in (200, 400, 404), answer.text
    if answer.status_code != 200:
        error = answer.json()["error"]
        assert (error["message"] if isinstance(error, dict) else error).strip()


@pytest.mark.parametrize("path", ["/nowhere", "/api", "/api/generate/x", "/v1/models/nobody"])
def test_what_is_not_there(client: httpx.Client, path: str) -> None:
    assert client.get(path).status_code == 404


def test_a_call_by_another_method(client: httpx.Client) -> None:
    assert client.get("/api/generate").status_code == 405


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"host": "localhost:11434"}, 200),
        ({"host": "[::1]:11434"}, 200),
        ({"host": "app.localhost"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "evil.example:11434"}, 403),
        ({"host": "localhost.evil.example"}, 403),
        ({"host": "192.168.1.7"}, 403),
        ({"host": ""}, 403),
        ({"origin": "http://localhost:3000"}, 200),
        ({"origin": "http://127.0.0.1"}, 200),
        ({"origin": "https://allowed.example"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://[bad"}, 403),
    ],
)
def test_hosts_and_origins(client: httpx.Client, headers: dict[str, str], status: int) -> None:
    for path in ("/api/version", "/metrics"):
        assert client.get(path, headers=headers).status_code == status
    if status == 403:
        assert client.post("/api/generate", content=b"{}", headers=headers).json()["error"]


def test_a_server_that_listens_for_others_answers_to_any_name() -> None:
    from kvlab.serve.app import make_app
    from kvlab.serve.client import LocalOnly
    from kvlab.serve.settings import Settings

    (guard,) = make_app(Settings(models={}), any_host=True).user_middleware
    assert guard.cls is LocalOnly
    assert guard.kwargs["any_host"] is True


def test_metrics_are_what_prometheus_reads_and_count_what_was_served(fake: Server) -> None:
    fake.ollama.generate(MODEL, keep_alive=0)
    for _ in range(3):
        fake.ollama.generate(MODEL, "Alice")
    text = httpx.get(f"{fake.url}/metrics").text
    found = {(one.name, *sorted(one.labels.values())): one.value for family in text_string_to_metric_families(text) for one in family.samples}
    assert found["kvlab_loaded_models",] == 1
    assert [found["kvlab_prompt_tokens_total", part, MODEL] for part in ("cached", "left", "matched")] == [3, 6, 6]
    assert found["kvlab_requests_total", "stop_token", MODEL] == 3
    assert found["kvlab_waiting_requests", MODEL] == found["kvlab_running_requests", MODEL] == 0


def test_it_is_known_by_upstreams_words(client: httpx.Client) -> None:
    assert client.get("/").text == "Ollama is running"
    assert client.head("/").status_code == 200
