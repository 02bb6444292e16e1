"""Every log in fixtures/logs, and the runner's sample: what a person reads off it."""

from __future__ import annotations

import pytest

from tests.importers.read import gib, mib, observed, read, requests, rows

MATCH = ("tokens", "matched", "cached", "left")


def test_17783_load_and_one_prefill() -> None:
    imported = read("logs/real_17783_v0.32.4-6_load_and_trace.log")
    rec = imported.recording
    assert rec.manifest.model == "gemma4:31b-mlx"
    assert rows(rec, "runner_changed", "state", "model", "pid", "port") == [
        ("serving", "", None, 64523),
        ("ready", "", None, 64523),
        ("loaded", "gemma4:31b-mlx", 50936, None),
    ]
    assert observed(rec, "size", "value", "label", "pid") == [(gib(17.3), "gemma4:31b-mlx", 50936)]
    assert rows(rec, "loaded", "weights") == [(gib(16.96),)]
    assert rows(rec, "served", "label", "status", "seconds") == [("POST /api/generate", 200, 2.34217)]
    # the request's own beginning is not in the paste
    assert requests(rec, "request") == []
    assert rows(rec, "bytes_read", "phase", "active", "pool", "peak") == [("prefill", gib(16.99), mib(121.99), gib(17.10))]
    assert rows(rec, "captured", "end") == [(16,)]
    assert rec.events["t"].max() == pytest.approx(21.809)
    assert imported.summary.of("known") == {"(*RotatingKVCache)": 1, "ServeHTTP": 1, "context for request finished": 1}
    assert imported.summary.of("not_understood") == {}
    assert imported.summary.total() == 11


def test_17839_wrapped_paste() -> None:
    imported = read("logs/real_17839_freeall_as_pasted_wrapped.txt")
    rec = imported.recording
    assert requests(rec, *MATCH, "reason", "limiting_layer", "warnings") == [
        (46990, 46974, 0, 46990, "refused_by_layer", None, ["failed to restore cache, freeing all caches (offset 16383)"])
    ]
    # the peak of an earlier request, whose beginning was not pasted
    assert observed(rec, "peak", "request", "value") == [(0, gib(25.84))]
    assert imported.summary.of("not_understood") == {}
    assert imported.summary.total() == 10


def test_17902_load_that_failed() -> None:
    imported = read("logs/real_17902_load_failure.log")
    rec = imported.recording
    nemotron = "nemotron-3.5-lightning:30b-mlx"
    assert rows(rec, "runner_changed", "state", "model", "pid") == [
        ("failed", nemotron, 46018),
        ("expired", nemotron, 46018),
        ("unloading", "qwen3.8:27b-mlx", 46638),
    ]
    assert observed(rec, "size", "label", "value") == [(nemotron, gib(21.1))]
    ((warning,),) = rows(rec, "warned", "message")
    assert warning.startswith("error loading llama server: mlx runner failed: panic: mlx: [METAL] Command buffer execution failed")
    assert "Caused GPU Timeout Error" in warning
    assert rows(rec, "served", "label", "status", "seconds") == [("POST /api/generate", 500, 227.0)]
    assert requests(rec, "request") == []
    assert imported.summary.of("not_understood") == {}


def test_18267_abridged() -> None:
    rec = read("logs/real_18267_v0.33.3_abridged.txt").recording
    limited = "reuse_limited_by_restore_point"
    assert requests(rec, "request", *MATCH, "reason") == [
        (1, 23169, 21742, 16383, 6786, limited),
        (2, 38086, 36620, 32767, 5319, limited),
        (3, 35755, 35735, 32767, 2988, limited),
    ]


def test_old_spelling() -> None:
    imported = read("logs/synthetic_v0.30.8_old_spelling.log")
    rec = imported.recording
    assert requests(rec, *MATCH, "reason", "warnings", "generated", "counted", "nodes") == [
        (1024, 900, 0, 1024, "refused_by_layer", ["failed to restore cache, freeing all caches (offset 0)"], None, mib(12.5), 4)
    ]
    assert rows(rec, "paged_out", "request", "start", "end") == [(1, 512, 640)]
    assert rows(rec, "paged_in", "request", "start", "end") == [(1, 0, 512)]
    assert rows(rec, "bytes_read", "phase", "live_logical", "counted", "nodes", "live", "active") == [("close", mib(80), mib(12.5), 4, None, None)]
    assert imported.summary.of("known") == {"switching cache path": 1}
    assert imported.summary.of("not_understood") == {}


def test_a_whole_request_at_trace() -> None:
    imported = read("logs/synthetic_v0.33.0_trace_full_request.log")
    rec = imported.recording
    # 640 tokens are stored at the end, and a reply's last token is not: 640 - 600 + 1
    assert requests(rec, *MATCH, "reason", "generated", "peak", "counted", "active", "nodes") == [
        (600, 512, 512, 88, "reused_in_full", 41, gib(1.5), mib(12.5), gib(1.25), 4)
    ]
    assert requests(rec, "prefill_s", "decode_s") == [(pytest.approx(0.095), pytest.approx(0.910))]
    assert rows(rec, "evicted", "request", "state", "start", "end", "freed") == [(1, "leaf", 512, 640, mib(16)), (1, "interior", 0, 512, mib(4))]
    assert rows(rec, "chunk_ran", "start", "end") == [(512, 599)]
    assert rows(rec, "captured", "end") == [(596,)]
    assert rows(rec, "paged_out", "start", "end") == [(596, 640)]
    assert rows(rec, "bytes_read", "phase", "active", "pool", "peak", "counted") == [
        ("prefill", gib(1.25), mib(16), gib(1.5), None),
        ("close", gib(1.25), None, gib(1.5), mib(12.5)),
    ]
    nodes = {(row["start"], row["end"]): row for row in rec.nodes.to_dicts()}
    assert set(nodes) == {(0, 0), (0, 512), (512, 596), (596, 640), (512, 700)}
    parents = {edge: next((other for other, up in nodes.items() if up["node"] == row["parent"]), None) for edge, row in nodes.items()}
    assert parents == {(0, 0): None, (0, 512): (0, 0), (512, 596): (0, 512), (596, 640): (512, 596), (512, 700): (0, 512)}
    assert {edge for edge, row in nodes.items() if row["user"]} == {(0, 512), (512, 596)}
    # the runner was stopped five minutes later, and its trie went with it
    assert rows(rec, "runner_changed", "state", "pid", "t") == [("stopping", 50936, pytest.approx(300.999))]
    (stopped,) = (seq for (seq,) in rows(rec, "runner_changed", "seq"))
    assert all(row["died"] is not None and row["died"] > stopped for row in nodes.values())
    spans = {(row["start"], row["end"]): (row["state"], row["counted"]) for row in rec.spans.to_dicts()}
    assert spans == {(0, 512): ("owned", mib(12.5)), (512, 596): ("lazy", 0), (596, 640): ("lazy", 0), (512, 700): ("owned", 512 * 1024)}
    ((closed,),) = rows(rec, "request_closed", "seq")
    moment = rec.at(closed)
    assert {(row["start"], row["end"]) for row in moment.nodes.to_dicts() if row["active"]} == {(0, 0), (0, 512), (512, 596), (596, 640)}
    assert imported.summary.of("known") == {"switching cache path": 1, "tensor": 1}
    assert imported.summary.of("not_understood") == {}


def test_the_runner_sample() -> None:
    imported = read("samples/mlxrunner.log")
    rec = imported.recording
    assert rec.manifest.model == "lab-27b-mlx"
    assert requests(rec, *MATCH, "reason", "stop", "peak", "generated", "counted", "nodes") == [
        (21772, 0, 0, 21772, "nothing_shared", None, gib(22.31), 40, mib(587.25), 5),
        (23169, 21742, 16384, 6785, "reuse_limited_by_restore_point", "cancelled", None, None, None, None),
    ]
    # the only progress that is there is not the prefill's end
    assert requests(rec, "prefill_s") == [(None,), (None,)]
    assert requests(rec, "warnings") == [
        (["a trie dump lists 2 of 5 nodes"],),
        (["failed to restore cache, freeing all caches (offset 16384)"],),
    ]
    assert rows(rec, "captured", "request", "end") == [(1, 8192), (1, 16384), (1, 21768)]
    assert rows(rec, "paged_out", "request", "start", "end") == [(1, 21768, 21811)]
    assert rows(rec, "paged_in", "request", "start", "end") == [(2, 8192, 16384)]
    assert rows(rec, "evicted", "request", "state", "start", "end", "freed") == [
        (2, "leaf", 21742, 21811, mib(150.94)),
        (2, "interior", 8192, 16384, mib(146.81)),
    ]
    assert rows(rec, "loaded", "weights") == [(gib(16.9),)]
    assert rows(rec, "runner_changed", "state", "model", "pid", "port") == [
        ("starting", "lab-27b-mlx", None, 62001),
        ("ready", "", None, 62001),
        ("stopping", "", 4242, None),
    ]
    assert rec.nodes.select("start", "end", "user").rows() == [(0, 0, False), (0, 8192, True)]
    assert rec.spans.select("start", "end", "state", "counted").unique().rows() == [(0, 8192, "owned", mib(146.81))]
    assert imported.summary.of("not_understood") == {}
