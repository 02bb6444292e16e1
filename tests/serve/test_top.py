"""`kvlab top` on a kvlab server, on a server of Ollama's API, and where there is none."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from datetime import UTC, datetime

import pytest

from kvlab.importers.api_ps import ListedModel
from kvlab.probe.sample import Sample
from kvlab.probe.stand_in import stand_in
from kvlab.probe.top import loaded_models
from tests.cli.conftest import Said
from tests.serve.conftest import MODEL, Server, serving
from tests.serve.fakes import FakeRunner

Kvlab = Callable[..., Said]

NOW = datetime(2026, 9, 20, 14, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def fake() -> Generator[Server]:
    with serving(None, FakeRunner) as found:
        yield found


def test_a_kvlab_server_says_who_holds_what(fake: Server, kvlab_says: Kvlab) -> None:
    fake.ollama.generate(MODEL, "Alice", keep_alive=-1)
    said = kvlab_says("top", "--url", fake.url, "--json")
    (model,) = json.loads(said.out)["models"]
    assert (model["model"], model["pid"], model["kept"], model["running"], model["waiting"]) == (MODEL, FakeRunner.pids, True, 0, 0)
    assert set(model["owner_bytes"]) == {"weights", "live", "snapshots", "transient", "pool", "unattributed"}
    text = kvlab_says("top", "--url", fake.url, "--once").out
    assert MODEL in text
    assert "0 runs, 0 wait" in text
    assert "never" in text
    fake.ollama.generate(MODEL, keep_alive=0)


def test_nothing_loaded(kvlab_says: Kvlab) -> None:
    with serving(None, FakeRunner) as empty:
        assert "no model is loaded" in kvlab_says("top", "--url", empty.url, "--once").out


def test_a_server_without_metrics(kvlab_says: Kvlab) -> None:
    with stand_in() as url:
        said = kvlab_says("top", "--url", url, "--once")
    assert (said.code, said.err) == (0, "")


def test_nobody_there_is_two(kvlab_says: Kvlab) -> None:
    said = kvlab_says("top", "--url", "http://127.0.0.1:9", "--once")
    assert (said.code, said.out) == (2, "")
    assert "kvlab serve" in said.err


@pytest.mark.parametrize("every", ["0", "-1", "nan"])
def test_a_time_of_nothing_is_two(kvlab_says: Kvlab, every: str) -> None:
    assert kvlab_says("top", f"--every={every}").code == 2


@pytest.mark.parametrize(
    ("expires_at", "left", "kept"),
    [
        ("2026-09-20T14:05:00Z", 300.0, False),
        # Go writes nanoseconds and the machine's zone
        ("2026-09-20T16:04:00.123456789+02:00", 240.123456, False),
        ("2026-09-20T13:00:00Z", 0.0, False),
        ("2318-12-31T14:00:00Z", None, True),
        ("soon", None, False),
        ("", None, False),
        ("2026-09-20T14:05:00", None, False),
    ],
)
def test_the_rest_of_a_keep_alive(expires_at: str, left: float | None, *, kept: bool) -> None:
    (model,) = loaded_models(Sample(0.0, (ListedModel("m", 5, expires_at=expires_at),)), "", NOW)
    assert (model.left_s, model.kept, model.size_bytes) == (left, kept, 5)


@pytest.mark.parametrize("text", ["<html>", "kvlab_bytes{", 'kvlab_runner_pid{model="m"} x', 'kvlab_runner_pid{model="m"} NaN', 'kvlab_bytes{model="m"} +Inf'])
def test_metrics_that_are_none(text: str) -> None:
    (model,) = loaded_models(Sample(0.0, (ListedModel("m"),)), text, NOW)
    assert (model.pid, model.owner_bytes) == (None, {})
