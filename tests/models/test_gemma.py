"""Gemma 3 270M: opt-in, `pytest -m gemma`. Whoever runs it accepts the Gemma Terms of Use by setting KVLAB_ACCEPT_GEMMA=1."""

from __future__ import annotations

import os
import random

import numpy as np
import pytest

from kvlab.lab.lab import open_lab
from kvlab.models.loaded import Loaded
from kvlab.models.open import load_net
from kvlab.policy import Policy
from kvlab.workloads import Request, Workload
from tests.lab.cold import Walk, Watched, sequence

pytestmark = pytest.mark.gemma


@pytest.fixture(scope="module")
def gemma() -> Loaded:
    return load_net("gemma3-270m")


def test_it_continues_text(gemma: Loaded) -> None:
    from mlx_lm import stream_generate

    tokens = gemma.tokenizer.encode("The capital of France is")
    start, *rest = tokens
    assert start == gemma.tokenizer.wrapper.bos_token_id
    # every word is one token that carries the space before it
    assert [gemma.tokenizer.wrapper.convert_ids_to_tokens(token) for token in rest] == ["The", "▁capital", "▁of", "▁France", "▁is"]
    text = "".join(piece.text for piece in stream_generate(gemma.net, gemma.tokenizer.wrapper, tokens, max_tokens=16))
    assert "France" in text or "Paris" in text


@pytest.mark.parametrize("text", ["naïve café, 日本語 🙂", "  two spaces\n\nand a line", "x = 12345"])
def test_text_survives_encoding_and_streaming(gemma: Loaded, text: str) -> None:
    decoder = gemma.tokenizer.decoder()
    start, *tokens = gemma.tokenizer.encode(text)
    assert start == gemma.tokenizer.wrapper.bos_token_id
    assert "".join(decoder.add(token) for token in tokens) + decoder.finish() == text


def test_its_layers_and_licence_are_as_documented(gemma: Loaded) -> None:
    from mlx_lm.models.cache import make_prompt_cache

    kinds = [type(cache).__name__ for cache in make_prompt_cache(gemma.net)]
    assert (kinds.count("RotatingKVCache"), kinds.count("KVCache")) == (15, 3)
    assert gemma.context == 32768
    assert gemma.origin["licence"] == "Gemma Terms of Use"


def test_it_predicts_plain_text_well(gemma: Loaded) -> None:
    import mlx.core as mx

    tokens = gemma.tokenizer.encode("One, two, three, four, five, six, seven, eight, nine, ten.")
    logits = gemma.net(mx.array(tokens)[None])[0, :-1]
    chosen = np.array(mx.argmax(logits, axis=-1))
    # a counting sequence is certain after its first few words
    assert np.array_equal(chosen[8:-1], np.array(tokens)[9:-1])


def test_it_runs_past_its_window_with_every_byte_owned() -> None:
    assert os.environ["KVLAB_ACCEPT_GEMMA"] == "1"
    lab = open_lab("gemma3-270m")
    tokens = tuple(2 + index % 5000 for index in range(700))
    requests = (Request(tokens=tokens, max_new=4), Request(tokens=(*tokens, 9, 10), max_new=4))
    rows = lab.run(Workload("window", requests), progress=False).requests
    assert rows["matched"].to_list()[1] >= 700
    assert rows["counted"].to_list() == rows["predicted_counted"].to_list()
    assert (rows["unattributed"].abs() <= 1024).all()


def test_cached_equals_cold_and_the_twin_past_its_window(gemma: Loaded) -> None:
    model = Watched("gemma3-270m", gemma.net, gemma.tokenizer, context=gemma.context)
    whole = model.shape.state_bytes + 10 * model.shape.bytes_per_token
    rng = random.Random(1)
    walk = Walk(model, Policy(prefill_chunk=128, capture_grid=256, budget_bytes=6 * whole))
    for request in sequence(rng, 200_000, requests=5, most=1500, reply=3):
        walk.run(request)
    assert max(edge for edges in walk.edges.values() for edge in edges) > 512
