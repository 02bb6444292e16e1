"""`store_segments=server`, `store_entries`: what mlx-lm's own server keeps, finds and evicts, on both storages, in the twin and on real nets."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from kvlab.cache import WholeEntries
from kvlab.cache.media import media_fold
from kvlab.cache.whole_entries import KINDS
from kvlab.errors import BadValue
from kvlab.events import Event, Evicted, Matched, Violation, WrongPositions
from kvlab.lab.lab import Lab
from kvlab.lab.twin import Twin
from kvlab.models.mlx_model import MLXModel
from kvlab.models.tokens import WrappedTokenizer
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.workloads import Request, Workload
from kvlab.workloads.case_rows import requests_of
from kvlab.workloads.request import Follow, MediaItem, Segment
from kvlab.workloads.segments import chat_segments
from kvlab.workloads.text_tokens import message_tokens, word_tokens
from tests.cache import mlx_lm_server
from tests.cache.array_model import shape_of_kinds
from tests.cache.test_whole_entries import a_runner, tokens_to
from tests.lab import nets

Messages = tuple[tuple[str, str], ...]
SERVER = Policy(store="whole_entry_lru", store_segments="server", store_entries=10, prefill_chunk=5)
SYSTEMS: tuple[Messages, ...] = ((("system", "w1 w2 w3 w4"),), (("system", "w1 w2 w9"), ("system", "w5")), ())


@dataclass
class Chats:
    """Random chats: begun, continued, sent again, with tools, their replies shown without the thinking or whole; and plain prompts among them."""

    rng: random.Random
    open: list[Messages] = field(default_factory=list)

    def next(self) -> str | Messages:
        if self.rng.random() < 0.1:
            return self.words(6)
        if not self.open or self.rng.random() < 0.3:
            self.open = [*self.open[-3:], (*self.rng.choice(SYSTEMS), ("user", self.words(6)))]
            return self.open[-1]
        return self.rng.choice(self.open)

    def said(self, sent: str | Messages, reply: list[int]) -> None:
        if isinstance(sent, tuple) and sent in self.open and self.rng.random() < 0.8:
            shown = " ".join(f"w{token}" for token in reply[self.rng.choice((0, 0, 2)) :])
            turn = ("tool" if self.rng.random() < 0.15 else "user", self.words(5))
            self.open[self.open.index(sent)] = (*sent, ("assistant", shown), turn)

    def words(self, most: int) -> str:
        return " ".join(f"w{self.rng.randint(1, 50)}" for _ in range(self.rng.randint(2, most)))


@dataclass
class Sent:
    """One request as mlx-lm's server served it."""

    request: Request
    cached: int
    keys: dict[str, list[tuple[int, ...]]]
    nbytes: int


def served(kinds: tuple[str, ...], seed: int, entries: int, budget: int) -> Iterator[Sent]:
    """Serve 30 random requests with mlx-lm's server; what is sent to it again exactly as it keeps it would end it, and is not sent."""
    rng = random.Random(seed)
    wrapper = mlx_lm_server.tokenizer(rng.choice(("", "<think>", "<think> w51 w52")))
    words, chats = WrappedTokenizer(wrapper), Chats(rng)
    with mlx_lm_server.running(mlx_lm_server.Net(kinds), wrapper, entries, budget) as server:
        count = 0
        while count < 30:
            sent = chats.next()
            tokens = words.encode(sent) if isinstance(sent, str) else words.chat(sent)
            if any(tuple(tokens) in keys for keys in server.cache.keys().values()):
                continue
            count += 1
            prompt, cached, reply = server.ask(sent, rng.randint(1, 5))
            assert prompt == tokens
            segments = chat_segments(() if isinstance(sent, str) else sent, tokens, words.chat, words.thinking_start(tokens))
            # of a reply kvlab does not evaluate the last token
            request = Request(tokens=tuple(tokens), segments=segments, generated=(*reply, 0))
            yield Sent(request, cached, server.cache.keys(), server.cache.nbytes)
            chats.said(sent, reply)


def entries(runner: Runner) -> dict[str, list[tuple[int, ...]]]:
    assert isinstance(runner.cache, WholeEntries)
    return {kind: [tokens_to(node) for node in nodes.values()] for kind, nodes in runner.cache._entries.items()}


def ask(runner: Runner, request: Request) -> tuple[Matched, list[Event]]:
    events = list(runner.step(request))
    assert [event for event in events if isinstance(event, Violation | WrongPositions)] == []
    return next(event for event in events if isinstance(event, Matched)), events


@pytest.mark.parametrize("kinds", [("kv",), ("kv", "recurrent"), ("kv", "rotating")], ids="+".join)
def test_it_keeps_finds_and_evicts_what_mlx_lms_server_does(kinds: tuple[str, ...]) -> None:
    hits, evicted = 0, 0
    kept: dict[str, int] = dict.fromkeys(KINDS, 0)
    for seed in range(8):
        most, budget = 3 + seed, 1 << 60 if seed % 2 or "rotating" in kinds else 12_000
        runners = [a_runner(kinds, storage, SERVER.replace(store_entries=most, budget_bytes=budget)) for storage in ("spans", "mlx")]
        for sent in served(kinds, seed, most, budget):
            for runner in runners:
                matched, events = ask(runner, sent.request)
                assert matched.cached == sent.cached
                assert entries(runner) == sent.keys
                assert runner.cache.counted == sent.nbytes or "rotating" in kinds
                evicted += sum(isinstance(event, Evicted) for event in events)
            hits += sent.cached > 0
            for kind, keys in sent.keys.items():
                kept[kind] += bool(keys)
    assert min(hits, evicted) > 100
    assert min(kept.values()) > 100 or kinds == ("kv",)


def hybrid_chats(count: int) -> Iterator[Sent]:
    """Serve chats with two systems' prompts, three open at a time, whose replies come back without their thinking."""
    rng = random.Random(1)
    wrapper = mlx_lm_server.tokenizer("<think>")
    words, chats = WrappedTokenizer(wrapper), Chats(rng)
    open_chats: list[Messages] = []
    with mlx_lm_server.running(mlx_lm_server.Net(("recurrent", "kv")), wrapper) as server:
        for _ in range(count):
            if len(open_chats) < 3:
                open_chats.append((*rng.choice(SYSTEMS[:2]), ("user", chats.words(6))))
            messages = open_chats.pop(rng.randrange(len(open_chats)))
            prompt, cached, reply = server.ask(messages, 5)
            if len(messages) < 9:
                open_chats.append((*messages, ("assistant", " ".join(f"w{token}" for token in reply[2:])), ("user", chats.words(5))))
            segments = chat_segments(messages, prompt, words.chat, words.thinking_start(prompt))
            yield Sent(Request(tokens=tuple(prompt), segments=segments, generated=(*reply, 0)), cached, server.cache.keys(), server.cache.nbytes)


def test_hybrid_chats_resume_at_segments_and_almost_never_without_them() -> None:
    runners = [a_runner(("recurrent", "kv"), "spans", policy) for policy in (SERVER, SERVER.replace(store_segments="none"))]
    sent = list(hybrid_chats(60))
    with_segments, without = ([ask(runner, one.request)[0].cached for one in sent] for runner in runners)
    assert with_segments == [one.cached for one in sent]
    # with them all but the first request of each system; without, a reply that comes back without its thinking ends at no entry
    assert [sum(cached > 0 for cached in found) for found in (with_segments, without)] == [58, 0]


@pytest.mark.parametrize("net", [nets.hybrid, nets.convolution])
def test_real_nets_and_their_prediction_find_what_the_server_finds(net: Any) -> None:
    wrapper = mlx_lm_server.tokenizer("<think>")
    chats = Chats(random.Random(5))
    requests: list[Request] = []
    cached: list[int] = []
    with mlx_lm_server.running(net(), wrapper, max_size=4) as server:
        while len(requests) < 15:
            sent = chats.next()
            if isinstance(sent, tuple):
                _, found, reply = server.ask(sent, 4)
                requests.append(Request(messages=sent, generated=(*reply, 0)))
                cached.append(found)
                chats.said(sent, [token % mlx_lm_server.WORDS for token in reply])
    model = MLXModel("net", net(), WrappedTokenizer(wrapper), context=4096)
    recording = Lab(model, SERVER.replace(store_entries=4)).run(Workload("chats", tuple(requests)), progress=False, check=True)
    assert recording.events.filter(recording.events["kind"] == "violation").is_empty()
    table = recording.requests
    assert table["cached"].to_list() == cached
    assert sum(found > 0 for found in cached) > 7
    for column in ("counted", "nodes"):
        assert table[column].to_list() == table[f"predicted_{column}"].to_list()


def test_the_twins_chats_keep_their_systems_prompt_by_itself() -> None:
    system = ("system", "Answer in one short sentence and name no source.")
    first = Request(messages=(system, ("user", "Why is the sky blue?")), chat="a", max_new=3)
    tool = Request(messages=(("tool", "It is noon."),), chat="a", follow=Follow(rerendered=3), max_new=3)
    last = Request(messages=(("user", "And red at dusk?"),), chat="a", follow=Follow(rerendered=3), max_new=3)
    other = Request(messages=(system, ("user", "How deep is the sea?")), max_new=3)
    events = Twin(shape_of_kinds(("recurrent", "kv"), 0)).run(Workload("chat", (first, tool, last, other)), SERVER, progress=False, check=True).events
    assert events.filter(events["kind"] == "violation").is_empty()
    ends = events.filter(events["kind"] == "paged_out").select("request", "state", "end")
    header = len(message_tokens((system,))) - len(word_tokens("<|assistant|>\n")) + len(word_tokens("<|user|>\n"))
    kinds = {request: ends.filter(ends["request"] == request)["state"].to_list() for request in (1, 2, 3, 4)}
    assert kinds == {1: ["system", "user", "assistant"], 2: ["assistant", "assistant"], 3: ["user", "assistant"], 4: ["user", "assistant"]}
    assert ends["end"][0] == header
    assert events.filter(events["kind"] == "matched")["cached"].to_list()[3] == header


def test_a_case_says_how_many_tokens_are_the_systems() -> None:
    rows: list[dict[str, Any]] = [
        {"prefix_id": "s", "prefix_tokens": 20, "unique_tokens": 10, "system_tokens": 20, "generated_tokens": 3, "chat": "c"},
        {"continues": "c", "unique_tokens": 5, "generated_tokens": 3},
        {"prefix_id": "s", "prefix_tokens": 20, "unique_tokens": 9, "system_tokens": 20, "generated_tokens": 3},
        {"unique_tokens": 9, "generated_tokens": 3},
    ]
    requests = requests_of("case", rows)
    assert [one.segments for one in requests] == [
        (Segment("system", 20), Segment("user", 30)),
        (Segment("user", 5),),
        (Segment("system", 20), Segment("user", 29)),
        (),
    ]
    table = Twin(shape_of_kinds(("recurrent", "kv"), 0)).run(Workload("case", requests), SERVER, progress=False, check=True).requests
    assert table["cached"].to_list() == [0, 32, 20, 0]
    for wrong in (rows[0] | {"system_tokens": 30}, rows[0] | {"system_tokens": 0}):
        with pytest.raises(BadValue, match="system_tokens"):
            requests_of("case", [wrong])
    with pytest.raises(BadValue, match="system_tokens"):
        requests_of("case", [rows[0], rows[1] | {"system_tokens": 5}])


def test_a_cancelled_requests_segments_stay() -> None:
    runner = a_runner(("recurrent", "kv"), "spans", SERVER.replace(on_cancel="discard"))
    segments = (Segment("system", 10), Segment("user", 20))
    list(runner.step(Request(tokens=tuple(range(1, 21)), segments=segments, generated=(30, 31), cancel_after=15)))
    assert entries(runner) == {"assistant": [], "user": [], "system": [tuple(range(1, 11))]}


def test_a_prompt_with_an_image_has_no_segments() -> None:
    runner = a_runner(("recurrent", "kv"), "spans", SERVER)
    image = MediaItem(3, 6, media_fold(b"image", ()))
    ask(runner, Request(tokens=tuple(range(1, 21)), segments=(Segment("system", 10), Segment("user", 20)), generated=(30, 31), media=(image,)))
    assert [len(keys) for keys in entries(runner).values()] == [1, 0, 0]


def test_the_number_of_entries_holds_without_segments_too() -> None:
    runner = a_runner(("kv",), "spans", Policy(store="whole_entry_lru", store_entries=2, evict_at=frozenset({"begin"})))
    for first in (1, 21, 41):
        ask(runner, Request(tokens=tuple(range(first, first + 10)), generated=(90, 91)))
    assert [keys[0] for keys in entries(runner)["assistant"]] == [21, 41]


@pytest.mark.parametrize("choices", [{"store_segments": "server"}, {"store_entries": 10}])
def test_choices_about_whole_entries_are_refused_with_the_trie(choices: dict[str, Any]) -> None:
    (name, value), *_ = choices.items()
    with pytest.raises(BadValue, match=f"{name}={value} with store=trie"):
        Twin(shape_of_kinds(("kv",), 0)).run("unrelated:1", Policy(**choices), progress=False)
    assert Policy().replace(store_entries="10").store_entries == 10
    with pytest.raises(BadValue, match="store_entries"):
        Policy(store_entries=-1)
