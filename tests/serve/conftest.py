"""A server of this project's own, in a thread, and the clients that people use, unchanged."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import ollama
import openai
import psutil
import pytest
import uvicorn
from prometheus_client.parser import text_string_to_metric_families

from kvlab.cli import main
from kvlab.policy import Policy
from kvlab.serve.app import serve
from kvlab.serve.runner_process import RunnerProcess
from kvlab.serve.scheduler import Start
from kvlab.serve.settings import Settings
from tests.cli.conftest import Said

MODEL = "tiny-hybrid"

GREEDY = {"temperature": 0, "num_predict": 8}


@dataclass(frozen=True)
class Server:
    """A server that runs: where it is, and where its recordings go."""

    url: str
    out: Path | None
    server: uvicorn.Server
    ollama: ollama.Client
    openai: openai.OpenAI


_EARLIER: set[int] = set()
"""Processes of other tests."""


@contextmanager
def serving(out: Path | None, start: Start = RunnerProcess, **given: Any) -> Generator[Server]:
    """Serve the shipped models while the block lasts, on a free port."""
    _EARLIER.clear()
    _EARLIER.update(one.pid for one in psutil.Process().children())
    usual: dict[str, Any] = {"models": {name: name for name in (MODEL, "tiny-sliding")}, "policy": Policy(), "out": out}
    settings = Settings(**(usual | given))
    ready, found = threading.Event(), list[tuple[str, uvicorn.Server]]()

    def began(url: str, server: uvicorn.Server) -> None:
        found.append((url, server))
        ready.set()

    thread = threading.Thread(target=serve, args=(settings, "127.0.0.1", 0), kwargs={"ready": began, "start": start})
    thread.start()
    assert ready.wait(60)
    url, server = found[0]
    try:
        with ollama.Client(host=url) as first, openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0) as second:
            yield Server(url, out, server, first, second)
    finally:
        server.should_exit = True
        thread.join(120)
        assert not thread.is_alive()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    """A server that all tests of a file share: its runner would be taken for one of a probed server. Those that close models begin with an unload."""
    with serving(tmp_path_factory.mktemp("served")) as found:
        yield found


@pytest.fixture
def kvlab_says(capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    """Run a command line in this process."""

    def run(*words: object) -> Said:
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return run


def figures(server: Server, name: str, **labels: str) -> float:
    """Return a metric's value; 0 where there is none."""
    families = text_string_to_metric_families(httpx.get(f"{server.url}/metrics").text)
    found = [one.value for family in families for one in family.samples if one.name == name and labels.items() <= one.labels.items()]
    return sum(found)


def until(holds: Callable[[], Any]) -> Any:
    """Return the first value that is true; a minute is a defect."""
    for _ in range(6000):
        if found := holds():
            return found
        time.sleep(0.01)
    pytest.fail("it never came to be")


def children() -> list[psutil.Process]:
    """Return the runner processes of the server that was started last that are not dead."""
    found = [one for one in psutil.Process().children() if one.pid not in _EARLIER]
    return [one for one in found if one.status() != psutil.STATUS_ZOMBIE and {"kvlab.serve.child", "tests.serve.dying_child"} & set(one.cmdline())]
