"""Clients that leave and servers that end: no process is left behind, and every recording opens."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path
from typing import Any

import ollama
import psutil
import pytest

from kvlab.output_file import unwritable
from kvlab.recording import load, place
from tests.house.tree import ROOT
from tests.serve.conftest import GREEDY, MODEL, Server, children, figures, serving, until

LONG = {"temperature": 0, "num_predict": 3000, "stop": []}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server]:
    with serving(tmp_path_factory.mktemp("ended"), store_text=True) as found:
        yield found


def opened(server: Server) -> list[Any]:
    assert server.out is not None
    return [load(path) for path in sorted(server.out.glob("*.kvrec"))]


def ask(server: Server, **given: Any) -> ollama.GenerateResponse:
    return server.ollama.generate(MODEL, "Alice was not a bit", raw=True, options=GREEDY, **given)


def connected(server: Server, body: dict[str, Any]) -> socket.socket:
    """Send a request and do not read the answer."""
    host, port = re.findall(r"//(.*):(\d+)", server.url)[0]
    made = socket.create_connection((host, int(port)))
    raw = json.dumps(body).encode()
    made.sendall(b"POST /api/generate HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(raw), raw))
    return made


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_ends_its_request_at_its_next_token_and_one_that_waits_leaves_the_queue(server: Server, *, stream: bool) -> None:
    ask(server)
    before = figures(server, "kvlab_requests_total", stop="cancelled")
    first = connected(server, {"model": MODEL, "prompt": "The ship ", "raw": True, "options": LONG, "stream": stream})
    until(lambda: figures(server, "kvlab_running_requests", model=MODEL))
    second = connected(server, {"model": MODEL, "prompt": "It was ", "raw": True, "options": LONG, "stream": stream})
    until(lambda: figures(server, "kvlab_waiting_requests", model=MODEL))
    second.close()
    until(lambda: not figures(server, "kvlab_waiting_requests", model=MODEL))
    first.close()
    # it has its turn when the cancelled one has closed
    ask(server)
    assert figures(server, "kvlab_requests_total", stop="cancelled") == before + 1
    # what is in use belongs to someone, to within some small arrays
    assert figures(server, "kvlab_bytes", owner="unattributed") < 4096


def test_a_client_that_never_reads_does_not_hold_up_another(server: Server) -> None:
    silent = connected(server, {"model": MODEL, "prompt": "The ship ", "raw": True, "options": LONG | {"num_predict": 50}})
    until(lambda: figures(server, "kvlab_running_requests", model=MODEL))
    assert ask(server).done_reason == "length"
    silent.close()


def test_unload_ends_the_process_and_every_recording_is_complete(server: Server) -> None:
    ask(server)
    (runner,) = children()
    server.ollama.generate(MODEL, keep_alive=0)
    runner.wait(60)
    until(lambda: not server.ollama.ps().models)
    recordings = opened(server)
    assert all(recording.manifest.events == recording.events.height for recording in recordings)
    requests = recordings[-1].requests
    assert requests["label"].to_list() == ["api/generate"] * requests.height
    # they were asked for
    assert all(requests["text"].to_list())
    zombies = [one for one in psutil.Process().children() if one.status() == psutil.STATUS_ZOMBIE and one.pid == runner.pid]
    assert zombies == []


def test_prompts_and_answers_are_not_stored_unless_asked_for(tmp_path: Path) -> None:
    with serving(tmp_path) as plain:
        ask(plain)
        plain.openai.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "nonce-7f3a"}], max_tokens=4)
    (recording,) = opened(plain)
    assert recording.requests.height == 2
    assert not recording.manifest.stored_text
    assert recording.requests["text"].to_list() == [None, None]
    kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert b"nonce" not in kept
    assert children() == []


def test_a_server_that_is_killed_leaves_no_runner_behind(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "kvlab", "serve", MODEL, "--port", "0", "--out", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}) as server:
        assert server.stdout is not None
        url = re.findall(r"http://\S+\d", server.stdout.readline())[0]
        with ollama.Client(host=url) as client:
            client.generate(MODEL, "Alice", options=GREEDY)
        (runner,) = psutil.Process(server.pid).children()
        # a part is on disk within a second
        until(lambda: load(next(tmp_path.glob("*.kvrec"))).requests["generated"].drop_nulls().to_list())
        server.kill()
        server.wait()
        assert runner.wait(60) is None or not runner.is_running()
    (recording,) = [load(path) for path in tmp_path.glob("*.kvrec")]
    assert recording.requests["generated"].to_list() == [8]


def test_ctrl_c_ends_the_server_and_its_runner(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-c",
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from kvlab.cli import main; raise SystemExit(main())",
    ]
    command += ["serve", MODEL, "--port", "0", "--out", str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(ROOT)}) as server:
        assert server.stdout is not None
        assert server.stderr is not None
        url = re.findall(r"http://\S+\d", server.stdout.readline())[0]
        with ollama.Client(host=url) as client:
            client.generate(MODEL, "Alice", options=GREEDY)
        (runner,) = psutil.Process(server.pid).children()
        server.send_signal(signal.SIGINT)
        assert server.wait(60) == 130
        assert not runner.is_running()
        assert server.stderr.read() == "kvlab: interrupted\n"
    (recording,) = [load(path) for path in tmp_path.glob("*.kvrec")]
    assert recording.manifest.events is not None


def test_a_full_disk_ends_the_recording_and_not_the_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = threading.Event()
    write = place.replaced

    def replaced(path: Path, **given: Any) -> Any:
        if full.is_set():
            raise unwritable(path, "no space left on device")
        return write(path, **given)

    monkeypatch.setattr(place, "replaced", replaced)
    with serving(tmp_path) as served:
        before = ask(served).response
        (part,) = until(lambda: list(tmp_path.glob("*.kvrec/events/part-*.parquet")))[:1]
        full.set()
        assert ask(served).response == before
        until(lambda: figures(served, "kvlab_recording_failed"))
        assert ask(served).response == before
        assert part.exists()
    # what was written until then; it is not marked as complete
    (recording,) = opened(served)
    assert recording.requests["generated"].to_list()[0] == GREEDY["num_predict"]
    assert not recording.complete
