"""Flags and the environment variables of Ollama: each honoured, refused, or named as without effect."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from kvlab.errors import BadValue
from kvlab.policy import Policy
from kvlab.serve.app import bound
from kvlab.serve.catalogue import served_names
from kvlab.serve.keep_alive import FOREVER
from kvlab.serve.settings import WITHOUT_EFFECT, Settings, from_environment, parse_host
from tests.cli.conftest import Kvlab
from tests.house.tree import ROOT


def test_what_is_honoured() -> None:
    found = from_environment(
        {
            "OLLAMA_KEEP_ALIVE": "-1",
            "OLLAMA_MAX_LOADED_MODELS": "1",
            "OLLAMA_MAX_QUEUE": "7",
            "OLLAMA_CONTEXT_LENGTH": "2048",
            "OLLAMA_HOST": "0.0.0.0:8080",
            "OLLAMA_ORIGINS": "https://a.example, https://b.example",
            "OLLAMA_NUM_PARALLEL": "1",
        }
    )
    assert found == {
        "keep_alive_s": FOREVER,
        "most_loaded": 1,
        "most_waiting": 7,
        "context": 2048,
        "host": "0.0.0.0",  # noqa: S104  it is what a user set
        "port": 8080,
        "origins": ("https://a.example", "https://b.example"),
        "without_effect": (),
    }


@pytest.mark.parametrize("name", WITHOUT_EFFECT)
def test_what_is_without_effect_is_named(name: str) -> None:
    found = from_environment({name: "1"})["without_effect"]
    assert str(found).count(name) == 1


@pytest.mark.parametrize(
    "variables",
    [{"OLLAMA_NUM_PARALLEL": "4"}, {"OLLAMA_KEEP_ALIVE": "soon"}, {"OLLAMA_MAX_QUEUE": "-1"}, {"OLLAMA_CONTEXT_LENGTH": "8k"}, {"OLLAMA_HOST": "a:b:c"}],
)
def test_what_cannot_be_read_is_refused_by_name(variables: dict[str, str]) -> None:
    with pytest.raises(BadValue, match=next(iter(variables)) if "KEEP" not in str(variables) else "keep_alive"):
        from_environment(variables)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("127.0.0.1", ("127.0.0.1", 11434)),
        (":8080", ("127.0.0.1", 8080)),
        ("http://localhost:1234", ("localhost", 1234)),
        ("[::1]:7", ("::1", 7)),
        ("localhost:0", ("localhost", 0)),
    ],
)
def test_hosts(text: str, place: tuple[str, int]) -> None:
    assert parse_host(text) == place


def test_the_models_that_are_served(tmp_path: Path) -> None:
    assert served_names([]) == {name: name for name in ("smollm2", "tiny-hybrid", "tiny-sliding")}
    folder = tmp_path / "mine"
    folder.mkdir()
    assert served_names([str(folder), "owner/model"]) == {"mine": str(folder), "owner/model": "owner/model"}
    with pytest.raises(BadValue, match="tiny-hybrid"):
        served_names(["tiny-hybrid", "tiny-hybrid"])


@pytest.mark.parametrize("given", [{"most_loaded": 0}, {"most_waiting": -1}, {"context": -1}])
def test_bounds(given: dict[str, int]) -> None:
    with pytest.raises(BadValue, match="at least"):
        Settings(models={}, policy=Policy(), **given)  # pyright: ignore[reportArgumentType]


def test_a_taken_port_is_an_error_with_a_hint(kvlab_says: Kvlab) -> None:
    with bound("127.0.0.1", 0) as taken:
        taken.listen()
        said = kvlab_says("serve", "tiny-hybrid", "--port", taken.getsockname()[1])
    assert said.code == 2
    assert "address already in use" in said.err
    assert "--port" in said.err


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--port", "70000"], "70000"),
        (["--keep-alive", "soon"], "keep_alive"),
        (["--max-loaded", "0"], "max loaded"),
        (["--policy", "0.1.0"], "0.1.0"),
        (["--set", "close=never"], "close"),
        (["--set", "nothing"], "nothing"),
        (["--host", "no.such.host.invalid"], "no.such.host.invalid"),
        (["tiny-hybrid", "tiny-hybrid"], "tiny-hybrid"),
    ],
)
def test_wrong_use_is_two_with_words(kvlab_says: Kvlab, words: list[str], part: str) -> None:
    said = kvlab_says("serve", *words)
    assert (said.code, said.out) == (2, "")
    assert part in said.err


def test_an_unwritable_folder_is_three(kvlab_says: Kvlab, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    said = kvlab_says("serve", "--port", "0", "--out", tmp_path / "file")
    assert said.code == 3


def test_the_server_itself_imports_no_mlx() -> None:
    import subprocess
    import sys

    look = "import sys, kvlab.serve.app, kvlab.cli.serve; print({'mlx', 'mlx_lm', 'transformers'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", look], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


def test_a_bound_socket_has_the_port_that_was_free() -> None:
    with bound("127.0.0.1", 0) as made:
        assert made.getsockname()[1] > 0
        assert isinstance(made, socket.socket)
