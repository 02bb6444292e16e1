from __future__ import annotations

import codecs
import json
from pathlib import Path
from typing import Any

import pytest

from kvlab.errors import BadValue, UnreadableInput
from kvlab.policy import Policy
from kvlab.workloads import Follow, Workload, case

CASES = Path(__file__).parents[1] / "cases"


def written(folder: Path, **changes: Any) -> Path:
    data: dict[str, Any] = {"id": "mine", "layers": ["kv"], "workload": [{"tokens": [1, 2, 3], "generated": [4]}]}
    path = folder / "mine.json"
    path.write_text(json.dumps(data | changes))
    return path


def requests_of(folder: Path, *rows: dict[str, Any]) -> Workload:
    return case(written(folder, workload=list(rows)))


@pytest.mark.parametrize("path", sorted(CASES.rglob("*.json")), ids=lambda path: path.stem)
def test_every_shipped_case_is_read(path: Path) -> None:
    workload = case(path)
    data = json.loads(path.read_text())
    assert workload.name == path.stem
    assert len(workload) == sum(row.get("repeat", 1) for row in data["workload"])
    assert workload.expected == data["expected"]
    assert Policy.from_dict(workload.policy)
    assert workload.shape is not None


def test_prices_of_an_object_are_over_all_layers_and_a_draft_layer_takes_its_share() -> None:
    shape = case(CASES / "chat_50_turns_after.json").shape
    assert shape is not None
    assert [(group.kind, len(group.layers)) for group in shape.groups] == [("recurrent", 48), ("kv", 16), ("draft_kv", 1)]
    assert shape.bytes_per_token == 69632
    assert shape.groups[2].bytes_per_token * 17 == 69632
    assert shape.state_bytes == 153944064
    assert shape.look_ahead == 1
    assert shape.weights_bytes == round(16.94 * 2**30)


def test_a_list_of_layers_makes_one_group_a_kind_with_the_layers_indices(tmp_path: Path) -> None:
    units = {"bytes_per_kv_token": 3, "bytes_per_state": 10}
    shape = case(written(tmp_path, layers=["recurrent", "kv", "recurrent", "draft_kv"], units=units, look_ahead=1)).shape
    assert shape is not None
    assert [(group.kind, group.layers, group.bytes_per_token, group.state_bytes) for group in shape.groups] == [
        ("recurrent", (0, 2), 0, 20),
        ("kv", (1,), 3, 0),
        ("draft_kv", (3,), 3, 0),
    ]
    assert shape.look_ahead == 1


def test_rotating_layers_take_their_window_out_of_the_checkpoint(tmp_path: Path) -> None:
    layers = {"rotating": 2, "recurrent": 1, "window": 8, "rotating_bytes_per_token": 4, "whole_state_bytes": 100}
    shape = case(written(tmp_path, layers=layers)).shape
    assert shape is not None
    assert [(group.kind, group.layers, group.state_bytes, group.window) for group in shape.groups] == [
        ("rotating", (0, 1), 32, 8),
        ("recurrent", (2,), 68, 0),
    ]


def test_parts_share_what_they_name_and_nothing_else(tmp_path: Path) -> None:
    prefix = {"prefix_id": "sys", "prefix_tokens": 5}
    workload = requests_of(
        tmp_path,
        prefix | {"unique_tokens": 3, "repeat": 2},
        {"prefix_id": "sys", "prefix_tokens": 7},
        {"prefix_id": "other", "prefix_tokens": 5, "unique_tokens": 2, "unique_id": "u"},
        {"unique_tokens": 4, "unique_id": "u"},
    )
    first, second, longer, other, same_unique = (request.tokens for request in workload.requests)
    assert first[:5] == second[:5] == longer[:5]
    assert not set(first[5:]) & set(second[5:])
    assert not set(longer) & set(other)
    assert other[5:] == same_unique[:2]
    tokens = {token for request in workload.requests for token in request.tokens}
    assert all(0 < token < 2**31 for token in tokens)


def test_a_case_gives_the_same_tokens_every_time() -> None:
    path = CASES / "budget_short_unrelated_15.json"
    assert case(path) == case(path)


def test_generated_tokens_are_a_number_for_the_model_and_generated_the_reply_itself(tmp_path: Path) -> None:
    number, given, none = requests_of(
        tmp_path,
        {"unique_tokens": 4, "generated_tokens": 5},
        {"tokens": [1, 2], "generated": [7, 8]},
        {"tokens": [1, 2], "generated": []},
    ).requests
    assert (number.max_new, number.generated, number.ignore_stop) == (5, None, True)
    assert (given.max_new, given.generated, given.ignore_stop) == (2, (7, 8), True)
    assert (none.max_new, none.generated) == (0, ())


def test_a_chat_goes_on_as_its_first_request_says(tmp_path: Path) -> None:
    begun, going_on, cut = requests_of(
        tmp_path,
        {"unique_tokens": 4, "chat": "a", "reply_rerendered_tokens": 6},
        {"continues": "a", "unique_tokens": 2, "generated_tokens": 1},
        {"continues": "a", "drop_tail_tokens": 3, "keep_reply_tokens": 1, "unique_tokens": 2},
    ).requests
    assert (begun.chat, begun.follow) == ("a", None)
    assert (going_on.chat, going_on.follow, len(going_on.tokens)) == ("a", Follow(rerendered=6), 2)
    assert cut.follow == Follow(drop_tail=3, keep_reply=1, rerendered=6)


def test_cancel_think_time_and_action_are_kept(tmp_path: Path) -> None:
    cancelled, unload = requests_of(
        tmp_path,
        {"tokens": [1, 2, 3], "generated": [], "cancel_after_tokens": 2, "think_seconds": 1.5},
        {"action": "unload", "settle_seconds": 5.0},
    ).requests
    assert (cancelled.cancel_after, cancelled.think_s) == (2, 1.5)
    assert (unload.action, unload.think_s, unload.tokens) == ("unload", 5.0, ())


CHAT: dict[str, Any] = {"chat": "a", "unique_tokens": 8, "generated_tokens": 3}


def test_all_that_is_there_may_be_dropped_kept_or_evaluated(tmp_path: Path) -> None:
    rows = (
        CHAT,
        {"continues": "a", "drop_tail_tokens": 8, "keep_reply_tokens": 3, "unique_tokens": 2, "cancel_after_tokens": 5},
        # 5 tokens and no reply before it
        {"continues": "a", "unique_tokens": 2, "cancel_after_tokens": 7},
    )
    assert [request.cancel_after for request in requests_of(tmp_path, *rows).requests] == [None, 5, 7]


def test_a_case_without_a_workload_misses_it(tmp_path: Path) -> None:
    path = tmp_path / "mine.json"
    path.write_text(json.dumps({"layers": ["kv"]}))
    with pytest.raises(BadValue, match=r"mine\.json: workload is missing"):
        case(path)


def test_a_scaled_case_drops_and_keeps_in_proportion(tmp_path: Path) -> None:
    rows = [CHAT | {"unique_tokens": 1600, "generated_tokens": 800}, {"continues": "a", "drop_tail_tokens": 1600, "keep_reply_tokens": 800, "unique_tokens": 1}]
    follow = case(written(tmp_path, workload=rows), 1 / 8).requests[1].follow
    assert follow == Follow(drop_tail=200, keep_reply=100)


def test_a_byte_order_mark_is_left_out(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_bytes(codecs.BOM_UTF8 + path.read_bytes())
    assert case(path).name == "mine"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"worklod": []}, ("mine.json", "'worklod'", "did you mean 'workload'?")),
        ({"workload": [{"tokens": [1], "genrated": []}]}, ("mine.json, workload[0]", "'genrated'", "'generated'")),
        ({"layers": {"kv": 1, "kv_bytes": 3}}, ("mine.json, layers", "'kv_bytes'")),
        ({"units": {"bytes_per_token": 1}}, ("mine.json, units", "'bytes_per_token'")),
        ({"policy": {"protect": "nothing"}}, ("mine.json, policy", "protect", "'nothing'")),
        ({"policy": {"buget_bytes": 1}}, ("mine.json, policy", "'buget_bytes'")),
        ({"workload": [{"unique_tokens": -1}]}, ("workload[0]", "unique_tokens is -1")),
        ({"workload": [{"unique_tokens": True}]}, ("unique_tokens is True",)),
        ({"workload": [{"unique_tokens": 1, "repeat": 0}]}, ("repeat is 0",)),
        ({"workload": [{"unique_tokens": 1, "think_seconds": -0.5}]}, ("think_seconds is -0.5",)),
        ({"workload": [{"unique_tokens": 1, "repeat": 10**9}]}, ("mine.json, workload[0]", "repeat is 1000000000", "1,000,000")),
        ({"workload": [{"unique_tokens": 1, "repeat": 10**6}, {"unique_tokens": 1}]}, ("workload[1]", "1,000,000")),
        ({"workload": [{"unique_tokens": 10**15}]}, ("mine.json, workload[0]", "unique_tokens is 1000000000000000")),
        ({"workload": [{"unique_tokens": 1, "generated_tokens": 10**15}]}, ("workload[0]", "generated_tokens is 1000000000000000")),
        ({"workload": [{"prefix_id": "a", "prefix_tokens": 10**15}]}, ("workload[0]", "prefix_tokens is 1000000000000000")),
        ({"workload": [{"unique_tokens": 10**6, "repeat": 10**6}]}, ("workload[0]", "unique_tokens is 1000000", "1,000,000 requests")),
        ({"workload": [{"continues": "a", "unique_tokens": 1}]}, ("continues is 'a'", "none")),
        ({"workload": [CHAT, {"continues": "a", "drop_tail_tokens": 10**6, "unique_tokens": 1}]}, ("[1]", "drop_tail_tokens is 1000000", "has 8 tokens")),
        ({"workload": [CHAT, {"continues": "a", "drop_tail_tokens": 9, "unique_tokens": 1}]}, ("[1]", "drop_tail_tokens is 9", "has 8 tokens")),
        (
            {"workload": [CHAT, {"continues": "a", "drop_tail_tokens": 1, "keep_reply_tokens": 10**6, "unique_tokens": 1}]},
            ("[1]", "keep_reply_tokens is 1000000", "has 3 tokens"),
        ),
        ({"workload": [CHAT, {"continues": "a", "keep_reply_tokens": 1, "unique_tokens": 1}]}, ("[1]", "keep_reply_tokens is 1", "drop_tail_tokens")),
        ({"workload": [CHAT, {"continues": "a", "drop_tail_tokens": 8}]}, ("[1]", "the prompt is empty")),
        ({"workload": [CHAT, {"continues": "a", "unique_tokens": 1, "cancel_after_tokens": 13}]}, ("[1]", "cancel_after_tokens is 13", "has 12 tokens")),
        ({"workload": [{"tokens": [1, 2, 3], "cancel_after_tokens": 4}]}, ("[0]", "cancel_after_tokens is 4", "has 3 tokens")),
        ({"workload": [{"unique_tokens": 1, "drop_tail_tokens": 1}]}, ("drop_tail_tokens is 1",)),
        ({"workload": [{"unique_tokens": 1, "reply_rerendered_tokens": 1}]}, ("reply_rerendered_tokens is 1",)),
        ({"workload": [{"prefix_id": "sys", "unique_tokens": 1}]}, ("prefix_id is 'sys'", "come together")),
        ({"workload": [{"tokens": [1], "unique_tokens": 1}]}, ("unique_tokens is 1",)),
        ({"workload": [{"tokens": [1], "generated": [1], "generated_tokens": 1}]}, ("generated_tokens is 1",)),
        ({"workload": [{"tokens": [1], "score": 1}]}, ("[0]", "score is 1", "true or false")),
        ({"workload": [{"tokens": [1], "score": True, "generated": [1]}]}, ("[0]", "score is True", "no reply")),
        ({"workload": [{"tokens": [1], "score_shared": 1}]}, ("[0]", "score_shared is 1", "with score")),
        ({"workload": [{"tokens": [1, -2]}]}, ("tokens is [1, -2]",)),
        ({"workload": [{"tokens": []}]}, ("workload[0]", "the prompt is empty")),
        ({"workload": [{"action": "dance"}]}, ("action is 'dance'", "unload")),
        ({"workload": [{"action": "unload", "tokens": [1]}]}, ("'tokens'",)),
        ({"workload": []}, ("workload is []",)),
        ({"workload": [3]}, ("workload[0] is 3",)),
        ({"layers": ["kv", "magic"]}, ("'magic'",)),
        ({"layers": []}, ("layers is []",)),
        ({"layers": {"name": "x"}}, ("kv is missing",)),
        ({"layers": {"kv": 0, "kv_bytes_per_token": 1}}, ("mine.json, layers", "kv is 0")),
        ({"layers": {"kv": 0, "recurrent": 0}}, ("mine.json, layers", "kv is 0")),
        ({"layers": {"kv": 2, "kv_bytes_per_token": 1, "look_ahead": 1, "draft_kv": 0}}, ("look_ahead is 1", "no draft_kv layer")),
        ({"look_ahead": 1}, ("look_ahead is 1", "no draft_kv layer")),
        ({"layers": {"hidden": 1}}, ("hidden_bytes_per_token is missing",)),
        ({"layers": {"kv": 2}}, ("kv_bytes_per_token is missing",)),
        ({"layers": {"kv": -2, "kv_bytes_per_token": 1}}, ("kv is -2",)),
        ({"layers": {"kv": 2, "kv_bytes_per_token": 1, "look_ahead": 2}}, ("look_ahead is 2",)),
        ({"layers": {"rotating": 1, "rotating_bytes_per_token": 1}}, ("window",)),
    ],
)
def test_a_value_that_cannot_be_used_is_named_with_its_file_and_place(tmp_path: Path, changes: dict[str, Any], words: tuple[str, ...]) -> None:
    with pytest.raises(BadValue) as caught:
        case(written(tmp_path, **changes))
    for word in (str(tmp_path / "mine.json"), *words):
        assert word in str(caught.value)
    assert caught.value.exit_code == 2


def test_a_file_that_is_not_json_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "broken.json"
    path.write_text('{"id": ')
    with pytest.raises(UnreadableInput, match=r"broken\.json is not JSON"):
        case(path)
    with pytest.raises(UnreadableInput, match=r"absent\.json cannot be read"):
        case(tmp_path / "absent.json")
