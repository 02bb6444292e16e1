"""A server that never ends, or sends a probe elsewhere: every call is bounded in bytes and in time, and no other address is called."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import count, repeat
from socket import SHUT_RDWR

import pytest

from kvlab.probe import connection
from kvlab.probe.address import Address
from kvlab.probe.connection import Connection, Trouble
from kvlab.probe.server import Server

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n"
PIECE = json.dumps({"message": {"content": "x" * 1000}, "done": False}).encode() + b"\n"


@contextmanager
def endless(start: bytes, piece: bytes, pieces: int | None = None) -> Generator[Address]:
    """Give the address of a server that answers every call with `start` and `piece` again and again, until the other side leaves."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                for _ in count():
                    taken, _address = listening.accept()
                    with taken, suppress(OSError):
                        taken.recv(1 << 16)
                        taken.sendall(start)
                        for part in repeat(piece) if pieces is None else repeat(piece, pieces):
                            taken.sendall(part)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Address("http", "127.0.0.1", listening.getsockname()[1], "", is_here=True)
        # wakes `accept`
        with suppress(OSError):
            listening.shutdown(SHUT_RDWR)
    thread.join()


@pytest.mark.parametrize("piece", [PIECE, b"\n" * 1000, b" " * 999 + b"\n"], ids=["text", "lines", "blanks"])
def test_an_answer_in_pieces_is_bounded_in_bytes(monkeypatch: pytest.MonkeyPatch, piece: bytes) -> None:
    monkeypatch.setattr(connection, "MOST_OF_A_REPLY", 1 << 20)
    with endless(HEAD, piece) as address, pytest.raises(Trouble, match="longer than 1 MiB"):
        for _ in Server(address).stream(Connection(address, 60.0), "/api/chat", {}, lambda: 60.0):
            pass


@pytest.mark.parametrize("start", [HEAD, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b""], ids=["pieces", "trailer", "continue"])
def test_an_answer_is_bounded_in_time(start: bytes) -> None:
    piece = {HEAD: b"\n", b"": b"HTTP/1.1 100 Continue\r\n\r\n"}.get(start, b"a: b\r\n")
    with endless(start, piece) as address, pytest.raises(Trouble):
        list(Server(address).stream(Connection(address, 60.0), "/api/chat", {}, lambda: 0.2))
    with endless(start, piece) as address, pytest.raises(Trouble):
        Server(address, quick_s=0.2).listed()


@pytest.mark.parametrize("start", [HEAD, b""], ids=["pieces", "continue"])
def test_what_a_server_sends_after_the_end_is_not_read(monkeypatch: pytest.MonkeyPatch, start: bytes) -> None:
    # what Linux does after SHUT_RDWR as long as more arrives
    monkeypatch.setattr(socket, "SHUT_RDWR", socket.SHUT_WR)
    with endless(start, b"HTTP/1.1 100 Continue\r\n\r\n") as address, pytest.raises(Trouble):
        Server(address, quick_s=0.2).listed()


def test_a_list_is_bounded_in_bytes_and_in_models() -> None:
    with endless(HEAD, b" " * (1 << 16)) as address, pytest.raises(Trouble, match="more than 8 MiB"):
        Server(address, quick_s=60.0).listed()
    rows = b",".join([b'{"name":"a"}'] * 1001)
    with endless(HEAD + b'{"models":[' + rows + b"]}", b"", 0) as address, pytest.raises(Trouble, match="more than 1,000 models"):
        Server(address, quick_s=60.0).listed()


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_another_address_is_not_followed(status: int) -> None:
    with endless(HEAD, b"", 0) as elsewhere:
        head = f"HTTP/1.1 {status} Moved\r\nLocation: http://127.0.0.1:{elsewhere.port}/api/ps\r\nConnection: close\r\n\r\n".encode()
        with endless(head, b'{"models": []}', 1) as address, pytest.raises(Trouble, match="is not followed"):
            Server(address, quick_s=60.0).listed()
