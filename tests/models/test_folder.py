from __future__ import annotations

import json
from pathlib import Path

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models import llama
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from kvlab.errors import BadValue
from kvlab.models import open_model
from kvlab.models.precision import on_gpu
from kvlab.workloads.request import Request

CONFIG = {
    "model_type": "llama",
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "intermediate_size": 64,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "rms_norm_eps": 1e-5,
    "vocab_size": 258,
    "max_position_embeddings": 1024,
    "eos_token_id": [256, 257],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny bfloat16 llama with a byte-level tokenizer, as mlx-lm stores models."""
    path = tmp_path_factory.mktemp("model")
    net = llama.Model(llama.ModelArgs.from_dict(CONFIG))
    net.set_dtype(mx.bfloat16)
    mx.save_safetensors(str(path / "model.safetensors"), dict(tree_flatten(net.parameters())))
    (path / "config.json").write_text(json.dumps(CONFIG))
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={letter: at for at, letter in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(["<end>", "<turn>"])
    tokenizer.save(str(path / "tokenizer.json"))
    (path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": "<end>"}))
    return path


def test_a_local_folder_opens_and_answers(folder: Path) -> None:
    model = open_model(str(folder))
    assert model.stop_tokens == {256, 257}
    assert model.shape.context == CONFIG["max_position_embeddings"]
    assert model.origin["file"] == folder.name
    tokens = model.encode(Request(prompt="naïve"))
    assert len(tokens) == len("naïve".encode())
    model.prefill(tokens[:-1])
    assert 0 <= model.decode(tokens[-1])[0] < 258


def test_text_comes_back_as_it_went_in(folder: Path) -> None:
    model = open_model(str(folder))
    decoder = model.decoder()
    text = "naïve, 🙂 done"
    pieces = [decoder.add(token) for token in model.encode(Request(prompt=text))]
    assert "".join(pieces) + decoder.finish() == text
    assert not any("\ufffd" in piece for piece in pieces)


@pytest.mark.skipif(on_gpu(), reason="a GPU keeps weights as stored; needs a CPU")
def test_a_cpu_computes_in_float32_unless_told(folder: Path) -> None:
    size = 2 * 2 * 1 * 16
    assert open_model(str(folder)).shape.bytes_per_token == size * 4
    half = open_model(str(folder), dtype="bfloat16")
    assert half.shape.bytes_per_token == size * 2
    assert half.origin["dtype"] == "bfloat16"


def test_opening_twice_gives_the_same_logits(folder: Path) -> None:
    logits = [np.array(open_model(str(folder)).logits([1, 2, 3])) for _ in range(2)]
    assert np.array_equal(logits[0], logits[1])


def test_a_model_without_a_chat_template_takes_plain_prompts_only(folder: Path) -> None:
    with pytest.raises(BadValue, match="chat template") as caught:
        open_model(str(folder)).encode(Request(messages=(("user", "hi"),)))
    assert "plain prompt" in caught.value.hint


def test_a_template_that_refuses_is_quoted(folder: Path) -> None:
    model = open_model(str(folder))
    model.tokenizer.wrapper.chat_template = "{{ raise_exception('roles must alternate') }}"  # pyright: ignore[reportAttributeAccessIssue]
    model.tokenizer.wrapper.has_chat_template = True  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(BadValue, match="roles must alternate"):
        model.encode(Request(messages=(("user", "hi"), ("user", "there"))))
