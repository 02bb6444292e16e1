"""Lab: the runner on a real model, on MLX."""

from __future__ import annotations

import dataclasses
import gc
from pathlib import Path
from typing import TYPE_CHECKING

from kvlab.errors import require_type
from kvlab.lab.source import Prediction, Source
from kvlab.lab.twin import owners, shadow
from kvlab.models import open_model
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.units import KIB
from kvlab.workloads import Request
from kvlab.workloads.streams import FIRST_STREAM, in_vocabulary

if TYPE_CHECKING:
    from kvlab.models.mlx_model import MLXModel


class Lab(Source):
    """A real model with an instrumented prefix cache."""

    source = "lab"
    events_source = "lab"

    def _collect(self) -> None:
        # Arrays of dead objects would be taken for someone else's until they are collected; a collection takes as long as a token.
        meter = self._model.meter
        if meter.read().active - meter.weights() - sum(store.live_retained() for store in self._model.stores) > KIB:
            gc.collect()

    def __init__(self, model: MLXModel, policy: Policy) -> None:
        super().__init__(model, policy)
        self._vocabulary = model.tokenizer.vocabulary

    def _fit(self, request: Request) -> Request:
        vocabulary = self._vocabulary
        if not vocabulary or not any(token >= FIRST_STREAM for token in (*request.tokens, *(request.generated or ()))):
            return request
        known = [None if one is None else tuple(in_vocabulary(one, vocabulary, self._model.stop_tokens)) for one in (request.tokens, request.generated)]
        return dataclasses.replace(request, tokens=known[0] or (), generated=known[1])

    def _prediction(self, policy: Policy, *, check: bool) -> Prediction:
        followers = [shadow(self.shape, policy), *([owners(self.shape, policy)] if check else [])]

        def predict(runner: Runner, request: Request, stop: str) -> None:
            for follow in followers:
                follow(runner, request, stop)

        return predict


def open_lab(name: str, *, accept_licence: bool = False, dtype: str | None = None, kv_bits: int = 0) -> Lab:
    """Open a model by name, from a local folder, or by an mlx-lm id.

    Args:
        name: `smollm2`, `gemma3-270m` (opt-in), a folder, or an id such as `mlx-community/…`.
        accept_licence: Accept the licence of an opt-in model.
        dtype: Override how weights are held; None for what suits this machine.
        kv_bits: Quantise keys and values in the live buffers to 8, 4 or 2 bits; 0 keeps them as computed.

    Raises:
        KvlabError: the model is unknown or not available, or has layers this version cannot run.

    Example:
        >>> import kvlab
        >>> lab = kvlab.open("tiny-hybrid")
        >>> [event.kind for event in lab.step(kvlab.Request(prompt="Why?", max_new=2))][-1]
        'request_closed'
    """
    require_type("name", name, (str, Path), "a model's name, a folder, or an mlx-lm id")
    model = open_model(str(name), accept_licence=accept_licence, dtype=dtype, kv_bits=kv_bits)
    return Lab(model, default_policy(model.origin.get("device", "")))


def default_policy(device: str) -> Policy:
    """Return upstream main's choices; on a CPU a prefill chunk takes 128 tokens, which costs no speed there and much less peak."""
    return Policy(prefill_chunk=128) if "cpu" in device.lower() else Policy()
