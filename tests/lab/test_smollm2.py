"""A real model: its answer cold and after a hit, and where every byte is."""

from __future__ import annotations

import polars as pl
import pytest

from kvlab.cache.check import TOLERANCE
from kvlab.events import Matched, RequestClosed, TokenOut
from kvlab.lab.lab import Lab
from kvlab.lab.shapes import read_shape
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.units import MIB
from kvlab.workloads import Request, unrelated

FRANCE = Request(messages=(("user", "What is the capital of France?"),), max_new=16)
GROWTH_OF_UNATTRIBUTED = 64
"""Bytes a request may leave unattributed: nothing but the allocator's rounding of a scalar."""


def answer(lab: Lab, request: Request) -> tuple[str, Matched]:
    events = list(lab.step(request))
    told = "".join(event.text or "" for event in events if isinstance(event, TokenOut))
    closed = next(event for event in events if isinstance(event, RequestClosed))
    assert closed.text == told
    assert closed.stop == "stop_token"
    return told, next(event for event in events if isinstance(event, Matched))


def test_paris_cold_and_after_a_hit(smollm2: Lab) -> None:
    smollm2.cache.release()
    smollm2._runner = None
    cold, first = answer(smollm2, FRANCE)
    warm, second = answer(smollm2, FRANCE)
    assert "Paris" in cold
    assert warm == cold
    assert (first.cached, second.matched, second.cached) == (0, second.tokens, second.tokens - 1)


def test_every_byte_has_an_owner(smollm2: Lab) -> None:
    recording = smollm2.run(unrelated(15, max_new=8), Policy(prefill_chunk=128, budget_bytes=16 * MIB), progress=False, check=True)
    rows = recording.requests
    assert (rows["unattributed"].abs() <= TOLERANCE).all()
    assert (rows["unattributed"].diff().drop_nulls() <= GROWTH_OF_UNATTRIBUTED).all()
    assert_as_predicted(recording)
    assert (rows["counted"] <= 16 * MIB).all()
    assert recording.events.filter(pl.col("kind") == "evicted").height > 0


def assert_as_predicted(recording: Recording) -> None:
    rows = recording.requests
    for mine, twins in (("counted", "predicted_counted"), ("nodes", "predicted_nodes")):
        assert rows[mine].to_list() == rows[twins].to_list()
    step = 256 * read_shape("smollm2").bytes_per_token
    assert ((rows["live"] - rows["predicted_live"]).abs() <= step).all()
    assert recording.events.filter(pl.col("kind") == "violation").is_empty()


def test_the_shipped_shape_is_the_traced_one(smollm2: Lab) -> None:
    # The shipped shape is the float32 one; as stored, on Apple silicon, a token takes half of it.
    traced, shipped = smollm2.shape, read_shape("smollm2")
    halves = 1 if smollm2._model.origin["dtype"] == "float32" else 2
    assert shipped.bytes_per_token == traced.bytes_per_token * halves
    assert (shipped.groups[0].layers, shipped.context) == (traced.groups[0].layers, traced.context)
    # The buffers of small weights may come from the pool and be bigger, by less than the smallest matrix (576 x 192 numbers) in all.
    assert shipped.weights_bytes == pytest.approx(traced.weights_bytes, abs=576 * 192 * 4) or halves == 2
