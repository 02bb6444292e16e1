"""Traces: block ids become tokens, rows run in order of arrival, and what cannot be used is named with file, line, field and value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kvlab import shipped
from kvlab.errors import KvlabError
from kvlab.lab import open_twin
from kvlab.workloads import resolve
from kvlab.workloads.traces import trace


def mooncake(path: Path, *rows: dict[str, Any]) -> Path:
    usual = {"timestamp": 0, "input_length": 1024, "output_length": 3, "hash_ids": [7, 8]}
    path.write_text("".join(json.dumps(usual | row) + "\n" for row in rows))
    return path


def test_a_block_id_stands_for_its_fixed_tokens(tmp_path: Path) -> None:
    rows = ({}, {"input_length": 900}, {"input_length": 1500, "hash_ids": [7, 9, 8]})
    first, second, third = resolve(str(mooncake(tmp_path / "t.jsonl", *rows))).requests
    assert (len(first.tokens), len(second.tokens), len(third.tokens)) == (1024, 900, 1500)
    assert list(second.tokens) == list(first.tokens[:900])
    assert list(third.tokens[:512]) == list(first.tokens[:512])
    assert list(third.tokens[1024:]) == list(first.tokens[512:988])
    assert len(set(first.tokens) | set(third.tokens)) == 3 * 512
    assert first.max_new == 3
    assert first.ignore_stop


def test_matches_end_and_captures_fall_inside_blocks(tmp_path: Path) -> None:
    work = trace(mooncake(tmp_path / "t.jsonl", {"input_length": 700}, {"input_length": 1500, "hash_ids": [7, 8, 9]}))
    rows = open_twin(["recurrent", "kv"]).run(work, progress=False).requests
    assert rows["matched"].to_list() == [0, 700]
    assert rows["cached"].to_list() == [0, 696]


def test_bailian_blocks_are_16_tokens_and_a_rest_is_fresh(tmp_path: Path) -> None:
    chat = {"chat_id": 1, "parent_chat_id": -1, "type": "text", "turn": 1, "timestamp": 61.1}
    path = mooncake(tmp_path / "b.jsonl", chat | {"input_length": 32, "hash_ids": [5, 6]}, chat | {"input_length": 40, "hash_ids": [5, 6], "timestamp": 60.1})
    late, early = reversed(trace(path).requests)
    assert (len(early.tokens), len(late.tokens)) == (40, 32)
    assert list(early.tokens[:32]) == list(late.tokens)
    assert late.think_s == pytest.approx(1.0)


def test_a_table_of_arrivals_and_lengths_matches_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03.9799600,480,10\n2023-11-16 18:17:04.0319600,31,8\n")
    work = resolve(str(path))
    assert [len(request.tokens) for request in work.requests] == [480, 31]
    assert not set(work.requests[0].tokens) & set(work.requests[1].tokens)
    assert work.requests[1].think_s == pytest.approx(0.052)
    assert work.shape_name == "qwen3.8-27b"


def test_requests_are_a_sequence(tmp_path: Path) -> None:
    requests = trace(mooncake(tmp_path / "t.jsonl", {}, {"timestamp": 5}, {"timestamp": 9})).requests
    assert len(requests) == 3
    assert requests[-1] == requests[2] == requests[1:][1]
    with pytest.raises(IndexError):
        requests[3]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"timestamp": float("nan")}, ("line 2", "timestamp", "nan")),
        ({"timestamp": float("inf")}, ("line 2", "timestamp", "inf")),
        ({"input_length": 10**12}, ("line 2", "input_length", "1000000000000")),
        ({"input_length": float("nan")}, ("line 2", "input_length", "nan")),
        ({"input_length": 0}, ("line 2", "input_length", "0")),
        ({"output_length": -1}, ("line 2", "output_length", "-1")),
        ({"output_length": 10**12}, ("line 2", "output_length", "1000000000000")),
        ({"hash_ids": [1]}, ("line 2", "hash_ids", "1024")),
        ({"hash_ids": "7"}, ("line 2", "hash_ids", "'7'")),
        ({"hash_ids": [1.5, 2]}, ("line 2", "hash_ids", "1.5")),
        ({"chat_id": 3, "input_length": 32}, ("line 2", "chat_id", "one kind")),
    ],
)
def test_a_bad_row_is_named_with_its_file_line_field_and_value(tmp_path: Path, row: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(KvlabError) as caught:
        trace(mooncake(tmp_path / "bad.jsonl", {}, row))
    for word in ("bad.jsonl", *words):
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("none.jsonl", "", ("none.jsonl", "no rows")),
        ("none.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n", ("none.csv", "no rows")),
        ("broken.jsonl", '{"timestamp": 0,\n', ("broken.jsonl, line 1", "not JSON")),
        ("list.jsonl", "[1, 2]\n", ("list.jsonl, line 1", "[1, 2]")),
        ("short.jsonl", '{"timestamp": 0}\n', ("short.jsonl, line 1", "input_length is missing")),
        ("other.csv", "a,b\n1,2\n", ("other.csv", "a, b", "ContextTokens")),
        ("bad.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\nnoon,4,5\n", ("bad.csv, line 2", "TIMESTAMP", "'noon'")),
        ("bad.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03,nan,5\n", ("bad.csv, line 2", "ContextTokens", "'nan'")),
        ("cut.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:17:03\n", ("cut.csv, line 2", "ContextTokens", "None")),
    ],
)
def test_a_file_that_is_no_trace_says_why(tmp_path: Path, name: str, text: str, words: tuple[str, ...]) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(KvlabError) as caught:
        resolve(str(path))
    for word in words:
        assert word in str(caught.value)


def test_a_trace_that_is_not_there_or_packed_says_so(tmp_path: Path) -> None:
    with pytest.raises(KvlabError, match="cannot be read"):
        resolve(str(tmp_path / "nowhere.jsonl"))
    packed = tmp_path / "packed.jsonl"
    packed.write_bytes(b"\x28\xb5\x2f\xfd\x00\xff")
    with pytest.raises(KvlabError, match="not text"):
        resolve(str(packed))


def test_the_shipped_traces_are_whole() -> None:
    work = resolve("trace:mooncake")
    assert (work.name, len(work)) == ("trace:mooncake", 12_031)
    assert max(len(request.tokens) for request in work.requests[:50]) <= 126_195
    # block 0 begins every conversation of the first rows
    assert list(work.requests[0].tokens[:512]) == list(work.requests[4].tokens[:512])
    assert len(resolve("trace:azure")) == 8_819
    with pytest.raises(KvlabError, match="mooncake, azure"):
        resolve("trace:other")


def test_a_packed_trace_that_is_cut_short_says_so(tmp_path: Path) -> None:
    cut = tmp_path / "cut.jsonl.xz"
    cut.write_bytes((shipped.data("traces") / "mooncake_conversation.jsonl.xz").read_bytes()[:5000])
    with pytest.raises(KvlabError, match=r"cut\.jsonl\.xz cannot be unpacked"):
        resolve(str(cut))
    cut.write_bytes(b"no archive")
    with pytest.raises(KvlabError, match="cannot be unpacked"):
        resolve(str(cut))
