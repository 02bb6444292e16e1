"""What Lab and Twin do with runs, steps, cancels and wrong requests, on a small llama and on spans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import kvlab
from kvlab.errors import BadValue
from kvlab.events import Captured, ChunkRan, Event, Matched, RequestClosed, TokenOut
from kvlab.lab import Source, Twin, open_twin
from kvlab.lab.lab import Lab
from kvlab.models.tiny import random_llama
from kvlab.policy import Policy
from kvlab.workloads import Request, Sampling, Workload, chat

SHORT = Policy(prefill_chunk=8, capture_grid=16)


@pytest.fixture(params=["lab", "twin"])
def source(request: pytest.FixtureRequest) -> Source:
    model = random_llama()
    return Lab(model, SHORT) if request.param == "lab" else Twin(model.shape, SHORT)


def closed(events: Iterator[Event]) -> RequestClosed:
    return next(event for event in events if isinstance(event, RequestClosed))


def test_step_goes_on_and_run_begins_anew(source: Source) -> None:
    request = Request(tokens=tuple(range(20)), max_new=3)
    first = [event for event in source.step(request) if isinstance(event, Matched)]
    second = [event for event in source.step(request) if isinstance(event, Matched)]
    assert (first[0].cached, second[0].cached) == (0, 19)
    recording = source.run(Workload("once", (request,)), progress=False)
    assert recording.requests["cached"].to_list() == [0]


def test_a_step_reads_like_the_picture(source: Source) -> None:
    kinds = [event.kind for event in source.step(Request(tokens=tuple(range(20)), max_new=2))]
    order = ["request_began", "matched", "scheduled", "chunk_ran", "captured", "snapshot_placed", "token_out", "paged_out", "request_closed"]
    places = [kinds.index(kind) for kind in order]
    assert places == sorted(places)
    assert kinds.count("token_out") == 2


def chunks(events: Iterable[Event]) -> list[tuple[int, int]]:
    return [(event.start, event.end) for event in events if isinstance(event, ChunkRan)]


def test_chunks_go_past_captures_and_hold_one_token_back(source: Source) -> None:
    # a capture 4 before the end, at 26, is taken from what the last chunk left
    events = list(source.step(Request(tokens=tuple(range(30)), max_new=0)))
    assert chunks(events) == [(0, 8), (8, 16), (16, 24), (24, 29)]
    assert 26 in [event.end for event in events if isinstance(event, Captured)]


@pytest.mark.parametrize(
    ("kinds", "choices", "edges"),
    [
        # a recurrent state in between would be gone: the forward is cut there, and the count goes on
        (["recurrent", "kv"], {}, [(2, 10), (10, 12), (12, 18), (18, 23), (23, 24), (24, 26)]),
        (["kv"], {}, [(2, 10), (10, 18), (18, 26)]),
        # v0.30.7 ends a chunk at a capture and begins the next one there
        (["kv"], {"snapshots": "eager"}, [(2, 10), (10, 12), (12, 20), (20, 23), (23, 24), (24, 26)]),
    ],
)
def test_where_a_capture_ends_a_forward(kinds: list[str], choices: dict[str, str], edges: list[tuple[int, int]]) -> None:
    source = open_twin(kinds, Policy(prefill_chunk=8, capture_grid=12, capture_before_end=4).replace(**choices))
    list(source.step(Request(tokens=(1, 2, 3), max_new=0)))
    assert chunks(source.step(Request(tokens=(1, 2, *range(100, 125)), max_new=0))) == edges


def test_a_cancelled_prefill_resumes_where_it_stopped(source: Source) -> None:
    tokens = tuple(range(40))
    stopped = closed(source.step(Request(tokens=tokens, max_new=3, cancel_after=19)))
    assert (stopped.stop, stopped.generated) == ("cancelled", 0)
    again = next(event for event in source.step(Request(tokens=tokens, max_new=3)) if isinstance(event, Matched))
    assert (again.matched, again.cached) == (19, 19)


def test_cancel_stops_at_the_next_token(source: Source) -> None:
    events = source.step(Request(tokens=tuple(range(10)), max_new=30, ignore_stop=True))
    last: Event | None = None
    for event in events:
        if isinstance(event, TokenOut) and event.index == 4:
            source.cancel()
        last = event
    assert isinstance(last, RequestClosed)
    assert (last.stop, last.generated) == ("cancelled", 5)


def test_an_abandoned_step_leaves_a_whole_cache(source: Source) -> None:
    tokens = tuple(range(40))
    for event in source.step(Request(tokens=tokens, max_new=5)):
        if event.kind == "captured":
            break
    recording_before = source.cache.offset
    assert recording_before == 16
    again = next(event for event in source.step(Request(tokens=tokens, max_new=1)) if isinstance(event, Matched))
    assert again.cached == 16


def test_the_context_ends_a_reply() -> None:
    source = Lab(random_llama(context=24), SHORT)
    ended = closed(source.step(Request(tokens=tuple(range(20)), max_new=50, ignore_stop=True)))
    assert (ended.stop, ended.generated) == ("context", 5)
    assert source.cache.offset == 24


@pytest.mark.parametrize(("request_", "message"), [(Request(tokens=tuple(range(30))), "30 tokens"), (Request(), "empty")])
def test_a_prompt_that_cannot_run(request_: Request, message: str) -> None:
    source = Lab(random_llama(context=24), SHORT)
    with pytest.raises(BadValue, match=message):
        list(source.step(request_))


def test_sampling_is_repeatable_by_its_seed() -> None:
    source = Lab(random_llama(), SHORT)
    hot = Request(tokens=tuple(range(9)), max_new=12, sampling=Sampling(temperature=1.0, seed=3))
    replies = [[event.token for event in source.step(hot) if isinstance(event, TokenOut)] for _ in range(2)]
    greedy = [event.token for event in source.step(Request(tokens=tuple(range(9)), max_new=12)) if isinstance(event, TokenOut)]
    assert replies[0] == replies[1] != greedy


def test_prompts_and_answers_are_stored_only_when_asked(tmp_path: Path) -> None:
    source = Lab(random_llama(), SHORT)
    work = Workload("secret", (Request(prompt="the launch code is 4711", max_new=4),))
    quiet = source.run(work, out=str(tmp_path / "quiet.kvrec"), progress=False)
    told = source.run(work, store_text=True, progress=False)
    assert quiet.events["text"].is_null().all()
    assert quiet.events["token"].is_null().all()
    assert told.requests["text"].to_list() != [None]
    assert "4711" in "".join(told.events.filter(pl.col("kind") == "request_began")["text"].to_list())
    for file in (tmp_path / "quiet.kvrec").rglob("*"):
        assert not file.is_file() or b"4711" not in file.read_bytes()


def test_a_conversation_goes_on(source: Source) -> None:
    rows = source.run(chat(3), progress=False, check=True).requests
    assert (rows["matched"].to_list()[1:] > rows["tokens"].shift(1).to_numpy()[1:] - 8).all()
    assert rows["reason"].to_list()[1:] == ["reused_in_full"] * 2


def test_an_open_model_and_a_twin_are_unloaded(source: Source) -> None:
    work = Workload("w", (Request(tokens=(1, 2, 3), max_new=2), Request(action="unload"), Request(tokens=(1, 2, 3), max_new=2)))
    recording = source.run(work, progress=False, check=True)
    assert recording.requests["matched"].to_list() == [0, 0]
    assert recording.events.filter(pl.col("kind") == "violation").is_empty()
    after = recording.events.filter(pl.col("phase") == "unload").row(0, named=True)
    assert (after["weights"], after["live"], after["snapshots"], after["active"], after["nodes"]) == (0, 0, 0, 0, 1)


def test_an_error_in_the_middle_keeps_what_was_recorded(tmp_path: Path) -> None:
    source = open_twin(["kv"])
    out = tmp_path / "cut.kvrec"
    work = Workload("w", (Request(tokens=(1, 2, 3), label="one"), Request(label="two", tokens=(1,), action="reboot")))
    with pytest.raises(BadValue, match="reboot"):
        source.run(work, out=str(out), progress=False)
    kept = kvlab.load(out)
    assert kept.requests["label"].to_list() == ["one"]
    assert not kept.complete


def test_a_shape_by_name_and_by_kinds() -> None:
    assert kvlab.twin("smollm2").shape.bytes_per_token == 30 * 2 * 3 * 64 * 4
    assert kvlab.twin(["kv", "kv"]).shape.groups[0].layers == (0, 1)
    with pytest.raises(BadValue, match="smollm3"):
        kvlab.twin("smollm3")


def test_a_recording_says_that_it_was_checked() -> None:
    source = open_twin(["kv"])
    work = Workload("w", (Request(tokens=(1, 2, 3)), Request(tokens=(1, 2, 4))))
    verdicts = [kvlab.diagnose(source.run(work, progress=False, check=check)).about("is_the_answer_right").verdict for check in (True, False)]
    assert verdicts == ["identical", "not_enough_data"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda twin: twin.run([1, 2], progress=False), "a step takes"),
        (lambda twin: twin.run(3, progress=False), "a workload is"),
        (lambda twin: twin.run([], progress=False), "an empty list"),
        (lambda twin: list(twin.step(None)), "a step takes"),
        (lambda twin: twin.run("unrelated:1", policy="main", progress=False), "a policy is"),
        (lambda _: Request(prompt="x", max_new=-1), "max_new is -1"),
        (lambda twin: list(twin.step(Request())), "empty prompt"),
    ],
)
def test_a_wrong_value_is_told_with_what_is_right(wrong: Callable[[Twin], object], message: str) -> None:
    with pytest.raises(BadValue, match=message):
        wrong(open_twin(["kv"], SHORT))


def test_texts_and_messages_run_as_they_are(source: Source) -> None:
    def tokens(given: Any) -> list[int]:
        return source.run(given, progress=False).requests["tokens"].to_list()

    one, other = Request(messages=(("user", "one"),), max_new=1), Request(messages=(("system", "short"), ("user", "two")), max_new=1)
    assert tokens(["one", other]) == [*tokens(one), *tokens(other)]
    assert tokens([("system", "short"), ("user", "two")]) == tokens(other)
    assert tokens([{"role": "system", "content": "short"}, {"role": "user", "content": "two"}]) == tokens(other)


def test_printed_it_says_its_layers_its_policy_and_its_cache(source: Source) -> None:
    source.run(Request(tokens=(1, 2, 3), max_new=1), progress=False)
    head, *rest = str(source).splitlines()
    assert head.startswith(f"{type(source).__name__}({source.name}), policy ")
    assert any("kind kv" in line for line in rest)
    assert "2 nodes" in rest[-1]
