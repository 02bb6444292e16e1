"""The two trained models that kvlab ships: their files are what their cards say, they open without a network and they have learned."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import lzma
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mlx_lm.models.cache import KVCache, RotatingKVCache, make_prompt_cache

from kvlab import shipped
from kvlab.errors import UnreadableInput
from kvlab.models.known import KNOWN
from kvlab.models.loaded import Loaded
from kvlab.models.open import load_net
from kvlab.models.precision import on_gpu
from tests.models.conftest import FakeClient
from tests.tools.training import byte_tokens, continue_text, net, text
from tests.tools.training.card import FILE, SLICE_BYTES
from tests.tools.training.recipes import RECIPES

NAMES = sorted(RECIPES)
CACHES = {
    "tiny-hybrid": ["ArraysCache", "ArraysCache", "ArraysCache", "KVCache"],
    "tiny-sliding": ["RotatingKVCache", "RotatingKVCache", "KVCache"] * 2,
}
MOST_BYTES = 2_000_000


@pytest.fixture(scope="module", params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def loaded(name: str) -> Loaded:
    return load_net(name)


@pytest.fixture(scope="module")
def card(name: str) -> dict[str, Any]:
    return json.loads((shipped.data(name) / FILE).read_text())


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_files_are_those_of_the_card(name: str, card: dict[str, Any]) -> None:
    folder = shipped.data(name)
    assert {path.name for path in folder.iterdir()} == {FILE, *card["files"]}
    for file, told in card["files"].items():
        assert told == {"bytes": (folder / file).stat().st_size, "sha256": _sha256(folder / file)}
    assert card["files"]["model.safetensors"]["sha256"] == KNOWN[name].file.sha256
    assert card["files"]["model.safetensors"]["bytes"] <= MOST_BYTES


def test_the_text_is_that_of_the_card(card: dict[str, Any]) -> None:
    path = shipped.data(card["text"]["file"])
    assert _sha256(path) == card["text"]["sha256"]
    assert hashlib.sha256(lzma.decompress(path.read_bytes())).hexdigest() == card["text"]["unpacked_sha256"]
    read = text.read()
    assert hashlib.sha256(read.held_out_bytes).hexdigest() == card["text"]["held_out_sha256"]
    assert [len(read.trained), len(read.held_out)] == [card["text"]["trained_chapters"], card["text"]["held_out_chapters"]]


def test_the_card_is_of_the_recipe(name: str, card: dict[str, Any], loaded: Loaded) -> None:
    recipe = RECIPES[name]
    assert json.loads((shipped.data(name) / "config.json").read_text()) == recipe.config
    assert {key: card["training"][key] for key in ("seed", "steps", "tokens")} == {"seed": recipe.seed, "steps": recipe.steps, "tokens": recipe.tokens}
    assert card["parameters"] == net.parameters(loaded.net)


def test_each_layer_keeps_what_its_kind_keeps(name: str, loaded: Loaded) -> None:
    caches = make_prompt_cache(loaded.net)
    assert [type(cache).__name__ for cache in caches] == CACHES[name]
    logits = loaded.net(mx.array([loaded.tokenizer.encode("The sea" * 20)]), cache=caches)
    assert logits.shape == (1, 140, byte_tokens.VOCABULARY)
    assert logits.dtype == (mx.float16 if on_gpu() else mx.float32)
    for cache in caches:
        if isinstance(cache, RotatingKVCache):
            assert cache.max_size == 64
        if isinstance(cache, (KVCache, RotatingKVCache)):
            assert cache.offset == 140


def test_it_is_as_good_on_held_out_text_as_the_card_says(loaded: Loaded, card: dict[str, Any]) -> None:
    told = card["losses"]["held_out_slice"]
    assert told["bytes"] == SLICE_BYTES
    assert net.loss(loaded.net, list(text.read().held_out_bytes[:SLICE_BYTES])) == pytest.approx(told["nats_per_byte"], rel=0.01)
    # what a byte costs when only the letters' frequencies are known is about 3 nats
    assert told["nats_per_byte"] < 1.5


def test_greedy_continuation_is_the_same_each_time(loaded: Loaded) -> None:
    prompt = loaded.tokenizer.encode("It was a fine evening, and Catherine")
    first = continue_text.greedily(loaded, prompt, 40)
    assert len(first) == 40
    assert continue_text.greedily(loaded, prompt, 40) == first


def test_it_opens_without_fetching_anything(name: str, cache: Path, client: FakeClient) -> None:
    origin = load_net(name).origin
    assert origin["file"] == f"{name}/model.safetensors"
    assert origin["sha256"] == KNOWN[name].file.sha256
    assert origin["licence"] == "MIT; trained on public-domain text"
    assert client.called == 0
    assert not cache.exists()


def test_damaged_weights_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    model = KNOWN[name]
    monkeypatch.setitem(KNOWN, name, dataclasses.replace(model, file=dataclasses.replace(model.file, sha256="0" * 64)))
    with pytest.raises(UnreadableInput, match="wrong checksum"):
        load_net(name)


def test_a_token_is_a_byte(loaded: Loaded) -> None:
    @given(st.text().filter(lambda words: byte_tokens.END_NAME not in words))
    def holds(words: str) -> None:
        tokens = loaded.tokenizer.encode(words)
        assert tokens == list(words.encode())
        decoder = loaded.tokenizer.decoder()
        assert "".join(map(decoder.add, tokens)) + decoder.finish() == words

    holds()


def test_a_chat_is_written_as_it_was_trained(loaded: Loaded) -> None:
    messages = [("system", "Be kind."), ("user", "Who are you?"), ("assistant", "Alice."), ("user", "Naïve?")]
    assert loaded.tokenizer.chat(messages) == [*byte_tokens.chat(messages), *b"Assistant: "]
    assert byte_tokens.chat(messages[2:3]) == [*b"Assistant: Alice.", byte_tokens.END, *b"\n"]
    assert loaded.tokenizer.stop_tokens == {byte_tokens.END}
    assert loaded.tokenizer.vocabulary == byte_tokens.VOCABULARY
