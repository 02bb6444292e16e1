"""Traces: block ids become tokens, rows run in order of arrival, and what cannot be used is named with file, line, field and value."""

from __future__ import annotations

import codecs
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kvlab.packed
from kvlab import shipped
from kvlab.errors import KvlabError, UnreadableInput
from kvlab.lab import open_twin
from kvlab.workloads import resolve
from kvlab.workloads.blocks import block_size
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


def test_the_size_of_a_block_follows_from_all_rows(tmp_path: Path) -> None:
    # blocks of 16 tokens, as vLLM and SGLang hash them, in rows that name no chat
    rows = ({"input_length": 40, "hash_ids": [1, 2, 3]}, {"input_length": 16, "hash_ids": [1]}, {"input_length": 1030, "hash_ids": [1, 2, *range(9, 71)]})
    first, second, third = trace(mooncake(tmp_path / "t.jsonl", *rows)).requests
    assert [len(one.tokens) for one in (first, second, third)] == [40, 16, 1030]
    assert list(second.tokens) == list(first.tokens[:16])
    assert list(third.tokens[:32]) == list(first.tokens[:32])
    assert third.tokens[32] != first.tokens[32]
    # timestamps of rows that name no chat stay milliseconds
    later = trace(mooncake(tmp_path / "u.jsonl", rows[0], rows[1] | {"timestamp": 2500})).requests[1]
    assert later.think_s == 2.5


@pytest.mark.parametrize(("size", "usual"), [(512, 512), (16, 16), (16, 512), (64, 512), (512, 16), (2048, 512), (8, 512)])
def test_a_block_size_is_found_again(size: int, usual: int) -> None:
    tokens = [size // 2, size, 3 * size - 1, 40 * size + 1]
    whole = [-(-one // size) for one in tokens]
    assert block_size(tokens, whole, usual) == size
    # what the last block does not fill is left out by some servers
    assert block_size(tokens[1:], [one // size for one in tokens[1:]], usual) == size


def test_rows_that_agree_on_no_size_name_one_that_does_not_fit_the_others(tmp_path: Path) -> None:
    rows = ({"input_length": 64, "hash_ids": [1, 2, 3, 4]}, {"input_length": 6000, "hash_ids": [1]}, {"input_length": 160, "hash_ids": list(range(10))})
    with pytest.raises(KvlabError, match=r"t\.jsonl, line 2: hash_ids is \[1\]") as caught:
        trace(mooncake(tmp_path / "t.jsonl", *rows))
    assert "1 blocks of 16 tokens do not make a prompt of 6000" in caught.value.why


PACKINGS: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress, "": bytes}


@pytest.mark.parametrize("ending", PACKINGS)
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8], ids=["", "bom"])
def test_a_packed_trace_and_one_with_a_byte_order_mark_read_as_the_plain_one(tmp_path: Path, ending: str, mark: bytes) -> None:
    table = b"TIMESTAMP,ContextTokens,GeneratedTokens\r\n2023-11-16 18:17:03.97,480,10\r\n2023-11-16 18:17:04.03,31,8\r\n"
    blocks = mooncake(tmp_path / "t.jsonl", {}, {"timestamp": 3}).read_bytes()
    for name, text in (("a.csv", table), ("b.jsonl", blocks)):
        (tmp_path / name).write_bytes(text)
        path = tmp_path / f"packed-{name}{ending}"
        path.write_bytes(PACKINGS[ending](mark + text))
        assert list(resolve(str(path)).requests) == list(resolve(str(tmp_path / name)).requests)


@pytest.mark.parametrize("packed", ["t.jsonl.gz", "t.csv.gz", "t.jsonl.xz"])
def test_a_packed_trace_that_is_none_or_unpacks_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, packed: str) -> None:
    path = tmp_path / packed
    path.write_bytes(b"no archive")
    with pytest.raises(UnreadableInput, match=f"{packed}.* cannot be unpacked"):
        resolve(str(path))
    monkeypatch.setattr(kvlab.packed, "AT_WILL", 1 << 20)
    path.write_bytes(PACKINGS[path.suffix](b"TIMESTAMP,ContextTokens,GeneratedTokens" * ("csv" in packed) + b"\n" * (1 << 24)))
    with pytest.raises(UnreadableInput, match="unpacks to more than"):
        resolve(str(path))


def test_a_line_that_no_row_takes_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    path.write_bytes(gzip.compress(b"[" * (1 << 25)))
    with pytest.raises(UnreadableInput, match=r"line 1 has more than 16\.00 MiB"):
        resolve(str(path))


def test_a_file_of_another_name_is_told_what_names_mean(tmp_path: Path) -> None:
    path = mooncake(tmp_path / "trace.txt", {}, {})
    with pytest.raises(UnreadableInput, match=r"trace\.txt is no workload") as caught:
        resolve(str(path))
    assert ".jsonl" in caught.value.why


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
        ({"hash_ids": [-1, 2]}, ("line 2", "hash_ids is [-1, 2]", "at least 0")),
        ({"hash_ids": [True, 2]}, ("line 2", "hash_ids is [True, 2]")),
        ({"chat_id": 3, "input_length": 32}, ("line 2", "chat_id", "one kind")),
    ],
)
def test_a_bad_row_is_named_with_its_file_line_field_and_value(tmp_path: Path, row: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(KvlabError) as caught:
        trace(mooncake(tmp_path / "bad.jsonl", {}, row))
    for word in ("bad.jsonl", *words):
        assert word in str(caught.value)
    assert "case" not in str(caught.value)


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
    assert "case" not in str(caught.value)


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
    with pytest.raises(KvlabError, match=r"cut\.jsonl\.xz' cannot be unpacked"):
        resolve(str(cut))
    cut.write_bytes(b"no archive")
    with pytest.raises(KvlabError, match="cannot be unpacked"):
        resolve(str(cut))
