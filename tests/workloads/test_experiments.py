"""The published experiments by name: their sizes, their arms, and the verdicts of the full-size twin."""

from __future__ import annotations

from itertools import pairwise

import pytest

import kvlab
from kvlab.errors import BadValue
from kvlab.lab.lab import Lab
from kvlab.policy import Policy
from kvlab.recording.reported import reported_bytes
from kvlab.workloads import named
from kvlab.workloads.agent import INSTRUCTIONS, schema
from kvlab.workloads.contamination import BEGINNING
from kvlab.workloads.experiments import EXPERIMENTS, LADDER
from kvlab.workloads.text_tokens import request_tokens


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_experiment_says_what_it_is(name: str) -> None:
    work = named(name)
    assert work.name == name
    assert work.question
    assert work.shape_name
    assert work.model in ("tiny-hybrid", "tiny-sliding", "smollm2", "random-conv")
    Policy.from_dict(work.policy)
    for arm in EXPERIMENTS[name].arms:
        other = named(f"{name}:{arm}")
        assert other.requests == work.requests
        assert other.policy != work.policy


def test_sizes_are_those_of_the_reports() -> None:
    assert [len(named(name)) for name in ("A1", "A2", "A3", "C1", "D4")] == [15, 60, 24, 48, 50]
    assert all(request.max_new <= 5 for request in named("A1").requests)
    assert tuple(len(request.tokens) for request in named("B").requests) == (*LADDER, LADDER[-1])
    assert tuple(len(request.tokens) for request in named("B1").requests) == LADDER
    assert [len(request.tokens) for request in named("ladder:1024..8192").requests] == [1024, 2048, 4096, 8192]
    assert len(named("contamination:5x2")) == 10
    assert len(named("agent:3")) == 12


def test_cold_prompts_share_no_beginning() -> None:
    firsts = [request.tokens[0] for request in named("B").requests]
    assert len(set(firsts)) == len(firsts)


def test_the_catalogue_has_32_tools_in_89_kb_and_is_always_the_same() -> None:
    import json

    text = schema()
    tools = json.loads(text)
    assert len(tools) == 32
    assert len({tool["function"]["name"] for tool in tools}) == 32
    assert abs(len(text) - 89_000) < 1000
    assert text == schema()


def test_an_agents_requests_share_system_prompt_and_tools() -> None:
    requests = named("A3").requests
    system = requests[0].messages[0]
    assert system[1].startswith(INSTRUCTIONS)
    assert all(request.messages[0] == system for request in requests[9:])
    prompts = [request_tokens(request) for request in requests[9:]]
    for one, other in pairwise(prompts):
        shared = next(place for place, (mine, theirs) in enumerate(zip(one, other, strict=False)) if mine != theirs)
        assert round(100 * shared / len(other), 2) >= 99.95
    assert len(named("A3", 1 / 8).requests[0].text) == pytest.approx(len(requests[0].text) / 8, rel=0.1)


def test_c1_is_the_same_16_prompts_three_times_each_with_its_own_mark_at_the_end() -> None:
    requests = named("C1").requests
    assert 450 <= len(BEGINNING) <= 550
    assert [request.text for request in requests[:16]] * 3 == [request.text for request in requests]
    assert len({request.text for request in requests}) == 16
    marks = [request.marks for request in requests[:16]]
    for request in requests:
        assert request.text.startswith(BEGINNING)
        word, number = request.marks
        assert request.text.endswith(f"- {word},{number}\n" * 2)
        # the beginning and the note do not hold it, nor does another prompt
        assert not any(one in request.text for other in marks if other != request.marks for one in other)
        assert request.text.index(number) > len(request.text) - 40


def test_the_notes_of_c1_are_long_and_short_and_in_one_arm_of_exactly_one_length(smollm2: Lab) -> None:
    mixed, equal = (named(name).requests for name in ("C1", "C1:equal"))
    assert len(mixed) == len(equal) == 48
    for count in (lambda request: len(request.text), lambda request: len(request_tokens(request)), lambda request: len(smollm2.encode(request))):
        assert len({count(request) for request in equal}) == 1
        assert len({count(request) for request in mixed}) == 2
    assert named("C1:equal").policy == named("C1").policy


def test_every_call_of_c1s_unloaded_arm_is_followed_by_an_unload() -> None:
    requests = named("C1:unloaded").requests
    assert [request.action for request in requests] == ["", "unload"] * 96
    assert [request.text for request in requests[::2]] == [request.text for request in named("C1").requests] * 2


def test_the_rows_of_the_series_over_context_say_that_it_is_a_label() -> None:
    assert all("no rule reads it" in request.label for request in named("E1:context").requests)
    rows = kvlab.twin(["kv"]).run("E1:context", progress=False).requests["label"].to_list()
    assert rows[0] == "context 8192 (no rule reads it), request 1"


def test_d2_captures_and_resumes_at_an_items_edges_and_before_the_change_inside() -> None:
    inside: dict[str, list[int]] = {}
    for name in ("D2", "D2:before"):
        work = named(name)
        made = kvlab.twin(work.shape_name).run(work, progress=False)
        items = [request.media[0] for request in work.requests]
        resumed = made.requests["cached"].to_list()
        ends = made.events.filter(kind="scheduled").select("request", "end").rows()
        inside[name] = [request for request, end in ends if items[request - 1].cuts(end)]
        if name == "D2":
            # question 2 resumes at the picture's end, where the capture inside it landed; the third picture's match inside it at its start
            assert (resumed[1], resumed[5]) == (items[1].end, items[5].start)
            assert (1, items[0].end) in ends
        else:
            assert all(items[place].cuts(resumed[place]) for place in (1, 5))
    assert inside["D2"] == []
    assert {1, 5} <= set(inside["D2:before"])


def test_d3_reuses_the_conversation_that_resumed_mid_edge_and_before_the_change_not() -> None:
    after, before = (kvlab.twin(work.shape_name).run(work, progress=False, check=True) for work in map(named, ("D3", "D3:before")))
    last = after.requests.row(-1, named=True)
    # all but the last prompt token and the reply's last one, which was never evaluated
    assert last["matched"] == last["cached"] == 1000 + 4000 + 40 - 1
    assert after.events.filter(kind="violation").is_empty()
    refused = before.requests.row(-1, named=True)
    assert (refused["matched"], refused["cached"]) == (last["matched"], 0)
    assert {"cached_is_matched", "kv_covers_edge"} <= set(before.events.filter(kind="violation")["rule"])


def test_concurrent_turns_come_interleaved_and_single_ones_do_not() -> None:
    labels = [request.label for request in named("series:concurrency").requests]
    users = [label.split("user ")[1].split(",")[0] for label in labels]
    assert users[:16] == [user for user in ("1", "2", "3", "4") for _ in range(4)]
    assert users[16:20] == ["5", "6", "7", "8"]
    assert users[16:] == ["5", "6", "7", "8"] * 4


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("A1", "budget_filling"),
        ("A2", "budget"),
        ("B", "leak"),
        ("B:after", "budget"),
        ("D4", "budget"),
        ("D4:before", "over_budget_by_design"),
        ("E1", "budget"),
    ],
)
def test_the_full_size_twin_gives_the_verdict_of_the_reports(name: str, verdict: str) -> None:
    work = named(name)
    recording = kvlab.twin(work.shape_name).run(work, progress=False)
    assert kvlab.diagnose(recording).about("budget_or_leak").verdict == verdict


def test_a1_and_a2_grow_as_ollama_ps_printed() -> None:
    work = named("A2")
    reported = reported_bytes(kvlab.twin(work.shape_name).run(work, progress=False))
    size = [int(reported[request] / 1e9) for request in sorted(reported)]
    assert (size[0], size[14]) == (18, 23)
    assert set(size[30:]) == {26}


def test_growth_does_not_depend_on_context_in_the_series_over_it() -> None:
    work = named("series:context")
    rows = kvlab.twin(work.shape_name).run(work, progress=False).requests
    grown = rows["counted"].diff()
    for block in (slice(3, 10), slice(10, 20)):
        assert grown[block].median() == pytest.approx(grown[3:10].median(), rel=0.02)  # pyright: ignore[reportArgumentType]


def test_an_unload_gives_everything_back_and_a_reload_starts_at_the_baseline() -> None:
    work = named("E2")
    recording = kvlab.twin(work.shape_name).run(work, progress=False, check=True)
    assert recording.events.filter(recording.events["kind"] == "violation").is_empty()
    rows = recording.requests
    assert rows["retained"].to_list()[0] == rows["retained"].to_list()[3] or rows["tokens"][0] != rows["tokens"][3]
    assert rows["matched"].to_list()[3] == rows["matched"].to_list()[6] == 0
    finding = kvlab.diagnose(recording).about("what_will_unload_give_back")
    assert finding.verdict == "all_but_process_base"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("D4:neither", ("'neither'", "before")),
        ("A1:after", ("A1", "one arm")),
        ("E3", ("E3", "kvlab recycle")),
        ("a2", ("'a2'", "A2")),
        ("ladder:9..3", ("ladder:9..3",)),
        ("ladder:1..x", ("'1..x'", "ladder:1024..131072")),
        ("contamination:0x3", ("contamination:0x3",)),
        ("series:size", ("'size'", "context, requests, concurrency")),
        ("agent:many", ("'many'",)),
        ("ladder:99999999999999999999..3", ("two whole numbers",)),
    ],
)
def test_what_cannot_be_is_named(text: str, words: tuple[str, ...]) -> None:
    with pytest.raises(BadValue) as caught:
        named(text)
    for word in words:
        assert word in str(caught.value)


def test_sentences_cannot_be_scaled() -> None:
    with pytest.raises(BadValue, match="unrelated:3 cannot be scaled"):
        named("unrelated:3", 0.5)
