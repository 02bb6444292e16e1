from __future__ import annotations

import importlib.machinery
import shutil
import sys
from pathlib import Path

import pytest

from kvlab.errors import NotAvailable
from kvlab.models import package_client
from tests.models.conftest import CONTENT, packaged

PART = packaged(CONTENT).parts[0]


def only(monkeypatch: pytest.MonkeyPatch, *modules: str, uv: str | None = None) -> None:
    def find(name: str) -> importlib.machinery.ModuleSpec | None:
        return importlib.machinery.ModuleSpec(name, None) if name in modules else None

    monkeypatch.setattr(package_client.importlib.util, "find_spec", find)
    monkeypatch.setattr(shutil, "which", lambda _: uv)


def test_pip_downloads_without_dependencies_and_without_building(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    only(monkeypatch, "pip", uv="/bin/uv")
    words = package_client.command(PART, tmp_path)
    assert words[:4] == [sys.executable, "-m", "pip", "download"]
    assert {"--no-deps", "--only-binary", f"{PART.package}=={PART.version}", str(tmp_path)} <= set(words)


@pytest.mark.parametrize(("modules", "found", "begins"), [((), "/bin/uv", ["/bin/uv"]), (("uv",), None, [sys.executable, "-m", "uv"])])
def test_without_pip_uv_unpacks_into_a_folder_of_its_own(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, modules: tuple[str, ...], found: str | None, begins: list[str]
) -> None:
    only(monkeypatch, *modules, uv=found)
    words = package_client.command(PART, tmp_path)
    assert words[: len(begins)] == begins
    assert {"--target", "--no-deps", "--no-cache", str(tmp_path)} <= set(words)


def test_without_pip_and_uv_the_hint_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    only(monkeypatch)
    with pytest.raises(NotAvailable) as caught:
        package_client.command(PART, tmp_path)
    assert "pip" in caught.value.hint
    assert "uv" in caught.value.hint


def test_no_address_is_written_anywhere() -> None:
    folder = Path(package_client.__file__).parent
    for source in folder.rglob("*.py"):
        text = source.read_text(encoding="utf-8")
        assert "://" not in text, source
