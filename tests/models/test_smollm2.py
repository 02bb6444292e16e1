from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import numpy as np
import pytest

from kvlab.errors import UnreadableInput
from kvlab.models import gguf_llama, gguf_tokenizer
from kvlab.models.mlx_model import MLXModel
from kvlab.models.tokens import WrappedTokenizer
from kvlab.workloads.request import GREEDY, Request

QUESTION = Request(messages=(("user", "What is the capital of France?"),))

TEXTS = (
    "What is the capital of France?",
    "  two spaces, a\ttab and\n\na blank line ",
    "x = 12345 + 6.7e-8  # digits go one by one",
    "naïve café, Straße, 日本語, 🙂👩‍👩‍👧",
    "<|im_start|>user\nhi<|im_end|>",
)

RENDERED = (
    "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
    "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n"
    "<|im_start|>assistant\n"
)
"""What the file's template makes of one user message."""


@pytest.fixture(autouse=True)
def empty(smollm2: MLXModel) -> Generator[None]:
    """Begin and end with no live buffers and greedy choice."""
    yield
    smollm2.begin(0, GREEDY, None)
    for store in smollm2.stores:
        store.drop()


def answer(model: MLXModel, request: Request, limit: int = 16) -> str:
    tokens = model.encode(request)
    model.begin(1, GREEDY, None)
    model.prefill(tokens[:-1])
    decoder, text, token = model.decoder(), "", tokens[-1]
    for _ in range(limit):
        (token,) = model.decode(token)
        if token in model.stop_tokens:
            break
        text += decoder.add(token)
    return text + decoder.finish()


def test_the_capital_of_france_is_paris(smollm2: MLXModel) -> None:
    assert "Paris" in answer(smollm2, QUESTION)


def test_the_shape_is_that_of_the_file(smollm2: MLXModel) -> None:
    (group,) = smollm2.shape.groups
    # 30 layers, keys and values, 3 heads of 64 numbers
    number = 4 if smollm2.origin["dtype"] == "float32" else 2
    assert group.layers == tuple(range(30))
    assert group.bytes_per_token == 30 * 2 * 3 * 64 * number
    assert smollm2.shape.context == 8192
    assert smollm2.origin["licence"] == "Apache-2.0"
    assert len(smollm2.origin["sha256"]) == 64


@pytest.mark.parametrize("text", TEXTS)
def test_text_survives_encoding_and_streaming(smollm2: MLXModel, text: str) -> None:
    tokens = smollm2.encode(Request(prompt=text))
    decoder = smollm2.decoder()
    pieces = [decoder.add(token) for token in tokens]
    assert "".join(pieces) + decoder.finish() == text
    assert not any("\ufffd" in piece for piece in pieces)


def test_digits_go_one_by_one_and_control_tokens_are_whole(smollm2: MLXModel) -> None:
    assert len(smollm2.encode(Request(prompt="12345"))) == 5
    (stop,) = smollm2.stop_tokens
    assert smollm2.encode(Request(prompt="<|im_end|>")) == [stop]


def test_the_chat_template_is_that_of_the_file(smollm2: MLXModel) -> None:
    assert smollm2.encode(QUESTION) == smollm2.encode(Request(prompt=RENDERED))


def test_a_system_message_replaces_the_default(smollm2: MLXModel) -> None:
    tokens = smollm2.encode(Request(messages=(("system", "Be brief."), ("user", "Hi"))))
    decoder = smollm2.decoder()
    text = "".join(decoder.add(token) for token in tokens)
    assert text.startswith("<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi")
    assert "SmolLM" not in text


def test_both_tokenizers_of_the_file_agree_on_bytes(smollm2: MLXModel) -> None:
    tokenizer = smollm2.tokenizer
    assert isinstance(tokenizer, WrappedTokenizer)
    assert tokenizer.table is not None
    ids = [token for token in range(tokenizer.vocabulary) if token % 97 == 0 and token not in smollm2.stop_tokens]
    for token in ids:
        assert tokenizer.table[token].decode("utf-8", "replace") == tokenizer.wrapper.decode([token]), token


def test_weights_as_stored_give_the_same_choice(embedded_model: Path, smollm2: MLXModel) -> None:
    tokens = smollm2.encode(Request(prompt="The capital of France is"))
    stored = gguf_llama.load(embedded_model, "stored")
    model = MLXModel("stored", stored.net, gguf_tokenizer.build(stored.metadata), context=stored.context)
    quantised, plain = (np.array(one.logits(tokens)).astype(np.float64) for one in (model, smollm2))
    assert model.meter.weights() < smollm2.meter.weights() / 4
    assert quantised.argmax() == plain.argmax()
    # the same numbers, multiplied before or after they are taken out of their groups
    assert float(np.abs(quantised - plain).max()) < 1e-3 * float(np.abs(plain).max())


def test_a_truncated_file_is_refused(embedded_model: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with embedded_model.open("rb") as whole:
        cut.write_bytes(whole.read(1000))
    with pytest.raises(UnreadableInput, match="GGUF"):
        gguf_llama.load(cut, "float32")
    (tmp_path / "text.gguf").write_text("not a model")
    with pytest.raises(UnreadableInput, match="GGUF"):
        gguf_llama.load(tmp_path / "text.gguf", "float32")
