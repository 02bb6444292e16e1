"""Shared by the tests of models: a package client that is a small script, and the real model, opened once."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kvlab import cache_folder
from kvlab.models import package_client
from kvlab.models.packaged import PackagedFile, Part

if TYPE_CHECKING:
    from kvlab.models.mlx_model import MLXModel

FAKE_CLIENT = Path(__file__).with_name("fake_client.py")

CONTENT = bytes(range(256)) * 40
"""What the fake client delivers as the packaged file."""


def packaged(*pieces: bytes, name: str = "weights.bin") -> PackagedFile:
    """A file that is carried by one made-up package a piece."""
    parts = tuple(Part(f"made-up-{at}", "1.0", f"made_up_{at}/data/piece.bin", len(piece)) for at, piece in enumerate(pieces))
    return PackagedFile(name=name, parts=parts, sha256=hashlib.sha256(b"".join(pieces)).hexdigest())


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where a test writes its config."""
    return tmp_path / "config.json"


class FakeClient:
    """Stands in for pip or uv: runs fake_client.py with the words given here."""

    def __init__(self, calls: Path) -> None:
        self.calls = calls
        self.words: Sequence[str] = ("wheel", CONTENT.hex())

    def command(self, part: Part, into: Path) -> list[str]:
        return [sys.executable, "-I", str(FAKE_CLIENT), str(self.calls), part.member, str(into), *self.words]

    @property
    def called(self) -> int:
        return len(self.calls.read_text().splitlines()) if self.calls.exists() else 0


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    folder = tmp_path / "cache"
    monkeypatch.setenv(cache_folder.VARIABLE, str(folder))
    return folder


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    """A package client that needs no network."""
    fake = FakeClient(tmp_path / "calls")
    monkeypatch.setattr(package_client, "command", fake.command)
    return fake


@pytest.fixture(scope="session")
def smollm2(embedded_model: Path) -> MLXModel:
    """The real embedded model, opened once; a test that uses it drops its live buffers first."""
    from kvlab.models import open_model

    assert embedded_model.is_file()
    return open_model("smollm2")
