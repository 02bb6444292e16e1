from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import huggingface_hub.constants
import pytest

from kvlab import cache_folder
from kvlab.errors import BadValue, NotAvailable, UnreadableInput
from kvlab.models import open_model
from kvlab.models.known import KNOWN
from tests.models.conftest import FakeClient


def test_an_unknown_name_lists_the_known_and_the_nearest() -> None:
    with pytest.raises(BadValue) as caught:
        open_model("smolm2")
    assert all(name in caught.value.why for name in KNOWN)
    assert "smollm2" in caught.value.hint
    assert caught.value.exit_code == 2


def test_an_unknown_dtype_is_refused_before_anything_is_fetched(cache: Path, client: FakeClient) -> None:
    with pytest.raises(BadValue, match="float13"):
        open_model("smollm2", dtype="float13")
    assert client.called == 0
    assert not cache.exists()


def test_no_network_on_first_use(cache: Path, client: FakeClient) -> None:
    client.words = ("fail", "Network is unreachable")
    with pytest.raises(NotAvailable, match="no network") as caught:
        open_model("smollm2")
    assert str(cache_folder.place(KNOWN["smollm2"].file.name)) in caught.value.hint
    assert cache.is_dir()


def test_a_licence_is_named_and_must_be_accepted(cache: Path, client: FakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KVLAB_ACCEPT_GEMMA", raising=False)
    with pytest.raises(NotAvailable, match="Gemma Terms of Use") as caught:
        open_model("gemma3-270m")
    assert "KVLAB_ACCEPT_GEMMA=1" in caught.value.hint
    assert "accept_licence=True" in caught.value.hint
    assert KNOWN["gemma3-270m"].licence.where in caught.value.why
    assert client.called == 0
    assert not cache.exists()


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize("by", ["argument", "environment"])
def test_an_accepted_licence_goes_on_to_fetch(client: FakeClient, monkeypatch: pytest.MonkeyPatch, by: str) -> None:
    client.words = ("fail", "Network is unreachable")
    if by == "environment":
        monkeypatch.setenv("KVLAB_ACCEPT_GEMMA", "1")
    with pytest.raises(NotAvailable, match="no network"):
        open_model("gemma3-270m", accept_licence=by == "argument")


@pytest.mark.usefixtures("cache")
def test_the_package_that_gemma_needs_is_named(client: FakeClient, monkeypatch: pytest.MonkeyPatch) -> None:
    from kvlab.models import gguf_gemma3

    monkeypatch.setattr(gguf_gemma3.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(NotAvailable, match="gguf") as caught:
        open_model("gemma3-270m", accept_licence=True)
    assert "kvlab[gemma]" in caught.value.hint
    assert client.called == 0


def test_a_folder_without_a_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableInput, match=r"config\.json"):
        open_model(str(tmp_path))
    with pytest.raises(UnreadableInput, match="no such folder"):
        open_model(str(tmp_path / "nowhere"))


def test_a_folder_with_damaged_weights_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "llama"}))
    with pytest.raises(UnreadableInput) as caught:
        open_model(str(tmp_path))
    assert caught.value.exit_code == 3


def test_an_architecture_that_mlx_lm_does_not_know_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "no_such_architecture"}))
    (tmp_path / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    with pytest.raises(BadValue, match="no_such_architecture"):
        open_model(str(tmp_path))


def test_an_id_without_a_network_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(NotAvailable, match="could not be downloaded") as caught:
        open_model("no-such-owner/no-such-model")
    assert "local folder" in caught.value.hint


def test_importing_models_brings_in_no_mlx() -> None:
    code = "import sys, kvlab.models; print([name for name in sys.modules if name.partition('.')[0] in ('mlx', 'mlx_lm', 'transformers', 'numpy')])"
    root = Path(__file__).parents[2]
    ran = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
