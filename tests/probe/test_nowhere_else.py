"""Nothing is sent anywhere but to the server that was named."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from kvlab.probe import Probe, request_rows, sign_rows
from tests.probe.recorded_server import World

SPOKEN = set[tuple[str, int]]


@pytest.fixture
def spoken(monkeypatch: pytest.MonkeyPatch) -> SPOKEN:
    """Every address that is connected to."""
    found: SPOKEN = set()
    connect = socket.socket.connect

    def noted(self: socket.socket, address: Any) -> None:
        found.add(tuple(address[:2]))
        connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", noted)
    return found


def _named(url: str) -> tuple[str, int]:
    return "127.0.0.1", int(url.rpartition(":")[2])


def test_one_address(probe: Probe, url: str, spoken: SPOKEN) -> None:
    probe.run("E2", progress=False)
    probe.watch(4, every=2)
    assert spoken == {_named(url)}


def test_a_proxy_of_the_environment_is_not_asked(probe: Probe, url: str, spoken: SPOKEN, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert request_rows(probe.run("unrelated:1", progress=False))["stop"].to_list() == ["stop_token"]
    assert spoken == {_named(url)}


def test_a_redirect_is_not_followed(probe_of: Callable[..., Probe], spoken: SPOKEN) -> None:
    with socket.create_server(("127.0.0.1", 0)) as elsewhere, socket.create_server(("127.0.0.1", 0)) as listener:
        target, port = elsewhere.getsockname()[1], listener.getsockname()[1]

        def redirect() -> None:
            while True:
                try:
                    one = listener.accept()[0]
                except OSError:
                    return
                with one:
                    one.recv(65536)
                    one.sendall(f"HTTP/1.1 307 Moved\r\nLocation: http://127.0.0.1:{target}/\r\nContent-Length: 0\r\n\r\n".encode())

        thread = threading.Thread(target=redirect, daemon=True)
        thread.start()
        recording = probe_of(url=f"http://127.0.0.1:{port}", model="m").run("unrelated:1", requests=1, progress=False)
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()
        assert ("127.0.0.1", target) not in spoken
        assert spoken == {("127.0.0.1", port)}
    assert "wrong_answer" in sign_rows(recording)["state"].to_list()


def test_no_path_no_host_and_no_prompt_in_the_manifest(probe: Probe, world: World) -> None:
    del world
    manifest = probe.run("unrelated:1", progress=False).manifest
    assert set(manifest.origin) == {"server_version", "server", "port"}
    assert "127.0.0.1" not in manifest.to_json()
