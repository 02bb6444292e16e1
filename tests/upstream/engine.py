"""kvlab's engine on a sequence, without a recording: what each request found and what it left, in the words of the stored outcomes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from kvlab.cache import Session
from kvlab.cache.cache import Cache
from kvlab.cache.check import Checker, HasContents
from kvlab.events import Log, NullLog
from kvlab.lab.span_model import SpanModel
from kvlab.layers import Layer
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.trie import Node
from kvlab.typed_json import Placed
from kvlab.workloads import Request
from kvlab.workloads.case_layers import CaseModel, shape_of


class _Begins(Checker):
    """Notes of every begin what matched, what was restored, and by layer how many restored positions hold another stream's tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.found = ""
        self._known: dict[tuple[int, int], int] = {}
        self._streams: dict[int, list[int]] = {}

    def request(self, number: int, stream: Sequence[int]) -> None:
        """Name every prefix of what request `number` evaluates: a slot is right when it holds its own prefix's name."""
        at, names = 0, list[int]()
        for token in stream:
            at = self._known.setdefault((at, token), len(self._known) + 1)
            names.append(at)
        self._streams[number] = names

    def check(self, cache: Cache, session: Session, phase: str, log: Log) -> None:
        del log
        if phase == "begin":
            wrong = " ".join(str(self._wrong_slots(layer, session.cached)) for layer in cache.layers)
            self.found = f"{session.matched} {session.cached} {wrong}"

    def _wrong_slots(self, layer: Layer, cached: int) -> int:
        assert isinstance(layer.store, HasContents)
        ahead = 1 if layer.kind == "draft_kv" else 0
        slots = [(run.writer, place + ahead) for run in layer.store.contents(0, cached) for place in range(run.start, run.end)]
        mine, first = self._streams[max(self._streams)], cached - len(slots) + ahead
        theirs = (self._streams.get(writer, ())[place : place + 1] for writer, place in slots)
        return sum(list(name) != mine[at : at + 1] for at, name in enumerate(theirs, first))


def outcome(case: dict[str, Any], *, singly: bool = True) -> list[str]:
    """Run a case and return a text a request: `matched cached wrong... counted|start end bytes..., ...`.

    `wrong` and `bytes` are by layer; nodes come in the order of their tokens; a layer without a snapshot has -1 bytes, a lazy one 0.
    Without `singly` a reply is one run of tokens, as in long runs of the twin.
    """
    begins = _Begins()
    model = SpanModel(shape_of(Placed(case["id"], case, CaseModel), ""))
    runner = Runner(model, Policy.from_dict(case["policy"]), Log() if singly else NullLog(), begins)
    texts: list[str] = []
    for number, row in enumerate(case["workload"], 1):
        tokens, reply = tuple(row["tokens"]), tuple(row["generated"])
        begins.request(number, tokens + reply)
        scored = {key: row[key] for key in ("score", "score_shared") if key in row}
        request = Request(tokens=tokens, generated=reply, max_new=len(reply), ignore_stop=True, cancel_after=row.get("cancel_after_tokens"), **scored)
        for _ in runner.step(request):
            pass
        nodes = ",".join(" ".join(map(str, node)) for _, node in sorted(_nodes(runner.cache.trie.root, ())))
        texts.append(f"{begins.found} {runner.cache.registry.counted}|{nodes}")
    return texts


def _nodes(node: Node, before: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    keys = before + tuple(memoryview(node.edge).cast("i"))
    yield keys, (node.start, node.end, *(-1 if snapshot is None else snapshot.counted for snapshot in node.snapshots))
    for child in node.children.values():
        yield from _nodes(child, keys)
