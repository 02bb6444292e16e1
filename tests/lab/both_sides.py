"""A plan on a real model, on its twin, and on the model without a cache: three that must agree.

- Events: what the lab and the twin of its shape do is the same event by event, figures included; only what an allocator or a clock says may differ.
- Answers: every token, and every logit where the model keeps them, is what one forward over the whole text gives, unless the twin says that restored
  positions were wrong, or came from a request for which that was so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields, replace

import mlx.core as mx
import numpy as np

from kvlab.cache.check import HasContents
from kvlab.events import BufferChanged, BytesRead, Event, Matched, RequestClosed, TokenOut, Violation, WrongPositions
from kvlab.lab.lab import Lab
from kvlab.lab.source import Source
from kvlab.lab.twin import Twin
from kvlab.models.mlx_model import MLXModel
from kvlab.policy import Policy
from kvlab.workloads import Request
from tests.lab.cold import Watched
from tests.lab.random_plans import Action, Plan

TOLERANCE = 2e-5
"""Of the largest absolute logit: what other chunk edges may change in float32 (measured: at most 3e-6)."""

_OF_A_CLOCK = {"decode_s", "prefill_s", "seconds", "t", "ttft_s"}
_OF_AN_ALLOCATOR = {"active", "before", "footprint", "live", "peak", "pool", "retained", "snapshots", "transient", "unattributed", "weights"}
MEASURED = _OF_A_CLOCK | _OF_AN_ALLOCATOR | {"call_site", "seq", "source", "text", "token"}
"""Fields that a clock, an allocator or a vocabulary decides."""

OF_ONE_SIDE = frozenset({"allocated", "freed", "loaded", "pool_cleared", "request_began", "request_closed", "token_out", "violation", "wrong_positions"})
"""Kinds of events that follow from such a field, or that only one side has."""


OF_CONTENTS = frozenset({"restored_right", "lazy_intact"})
"""Rules about who wrote what, which real arrays do not say."""

OVERWRITES = ("attach", "copy_before_overwrite", "growth", "media", "mid_edge", "page_out")
"""The choices by which older releases lose or mix up contents, or whose snapshots miss a part of an edge (F-12): with main's in all of them no rule is
broken and nothing is wrong."""


@dataclass
class Sides:
    """One plan under way.

    Attributes:
        model: The real model.
        plan: The plan.
        tokens: Tokens of replies that were compared.
        wrong: Requests that the twin says began with wrong positions, theirs or inherited.
    """

    model: MLXModel
    plan: Plan
    tokens: int = 0
    wrong: set[int] = field(default_factory=set[int])
    number: int = 0

    def __post_init__(self) -> None:
        self.lab, self.twin = Lab(self.model, self.plan.policy), Twin(self.model.shape, self.plan.policy)
        self.lab.check_steps()
        self.twin.check_steps()

    def run(self) -> None:
        """Run the whole plan; afterwards nothing is held any more."""
        for action in self.plan.actions:
            self.number += 1
            self._both(action)
        for side in (self.lab, self.twin):
            cache = side.cache
            side._end_open_step()
            cache.release()
            assert (cache.registry.open, cache.registry.counted, cache.ledger.snapshots) == (0, 0, 0)

    def _both(self, action: Action) -> None:
        if isinstance(self.model, Watched):
            self.model.seen = []
        real = list(self._events(self.lab, action.request, action))
        runner = self.lab._runner
        assert runner is not None
        prompt, reply = tuple(runner.last[0]), tuple(runner.last[1])
        room = 0 if action.request.score or not _is_cut_short(action) else max(0, action.request.limit - len(reply))
        same = replace(
            action.request, messages=(), chat="", follow=None, tokens=prompt, generated=None if action.request.score else reply + (0,) * room,
            ends=tuple(runner.ends) or action.request.ends, segments=tuple(runner.segments) or action.request.segments,
        )  # fmt: skip
        simulated = list(self._events(self.twin, same, action))
        self._compare_events(real, simulated)
        self._compare_rules(real, simulated)
        self._compare_buffers()
        if self.number not in self.wrong:
            self._compare_answer(prompt, reply)

    def _events(self, side: Source, request: Request, action: Action) -> Iterator[Event]:
        kind, left = action.leave_at or ("", 0)
        steps = side.step(request)
        for event in steps:
            if side is self.twin:
                self._find_wrong(event)
            yield event
            if isinstance(event, TokenOut) and event.token is not None and event.index + 1 == action.cancel_at:
                side.cancel()
            if event.kind == kind and (left := left - 1) == 0:
                if not action.left_open:
                    steps.close()
                return

    def _find_wrong(self, event: Event) -> None:
        if isinstance(event, WrongPositions):
            self.wrong.add(self.number)
        elif isinstance(event, Matched):
            stores = [layer.store for layer in self.twin.cache.layers]
            writers = {run.writer for store in stores if isinstance(store, HasContents) for run in store.contents(0, event.cached)}
            if writers & self.wrong:
                self.wrong.add(self.number)

    def _compare_events(self, real: Sequence[Event], simulated: Sequence[Event]) -> None:
        sides = (_without_stop(real), simulated)
        ours, theirs = ([_figures(event) for event in side if event.kind not in OF_ONE_SIDE] for side in sides)
        for one, other in zip(ours, theirs, strict=False):
            assert one == other, f"the lab did {one}, the twin {other}"
        assert len(ours) == len(theirs)

    def _compare_rules(self, real: Sequence[Event], simulated: Sequence[Event]) -> None:
        ours, theirs = ([(event.rule, event.message) for event in side if isinstance(event, Violation)] for side in (real, simulated))
        assert ours == [one for one in theirs if one[0] not in OF_CONTENTS]
        main = Policy()
        if all(getattr(self.plan.policy, name) == getattr(main, name) for name in OVERWRITES):
            assert not theirs

    def _compare_buffers(self) -> None:
        real, twin = self.lab.cache, self.twin.cache
        assert [(layer.offset, layer.store.capacity) for layer in real.layers] == [(layer.offset, layer.store.capacity) for layer in twin.layers]
        assert (real.counted, real.trie.nodes) == (twin.counted, twin.trie.nodes)
        nodes, theirs = ([(node.start, node.end, node.counted, node.edge) for node in cache.trie.walk()] for cache in (real, twin))
        assert nodes == theirs

    def _compare_answer(self, prompt: tuple[int, ...], reply: tuple[int, ...]) -> None:
        if not reply:
            return
        text = mx.array([*prompt, *reply[:-1]])[None]
        logits = np.array(self.model.net(text, cache=self.model.fresh(self.model.net) if isinstance(self.model, Watched) else None)[0, len(prompt) - 1 :])
        given = self.plan.actions[self.number - 1].request.generated
        seen = self.model.seen if isinstance(self.model, Watched) else [None] * len(reply)
        for token, cold, mine in zip(reply, logits, seen, strict=True):
            room = TOLERANCE * float(np.abs(cold).max())
            assert given is not None or cold[token] >= cold.max() - 2 * room
            assert mine is None or float(np.abs(mine - cold).max()) <= room
            self.tokens += 1


def _is_cut_short(action: Action) -> bool:
    return action.leave_at is not None or action.cancel_at is not None


def _without_stop(real: Sequence[Event]) -> list[Event]:
    """Return what the lab did as the twin records it, which is given the stop token as a part of the reply: `TokenOut` has the offset after it.

    The lab puts out no stop token, so it records the live buffers, whose size is what it was.
    """
    stopped = any(isinstance(event, RequestClosed) and event.stop == "stop_token" for event in real)
    last = max((place for place, event in enumerate(real) if isinstance(event, BytesRead) and event.phase == "decode"), default=0)
    moved = {place for place, event in enumerate(real[:last]) if stopped and isinstance(event, BufferChanged) and event.retained == event.before}
    after = max((place for place, event in enumerate(real[:last]) if isinstance(event, TokenOut | BytesRead)), default=0)
    return [event for place, event in enumerate(real) if place not in moved or place < after]


def _figures(event: Event) -> tuple[object, ...]:
    return (event.kind, *((item.name, getattr(event, item.name)) for item in fields(event) if item.name not in MEASURED))


def run(model: MLXModel, plan: Plan) -> Sides:
    """Run `plan` on all sides.

    Raises:
        AssertionError: they differ; the message has the whole plan.
    """
    sides = Sides(model, plan)
    try:
        sides.run()
    except Exception as error:
        error.add_note(f"{model.name}, request {sides.number} of {plan}")
        raise
    finally:
        _release(sides.lab)
    return sides


def _release(lab: Lab) -> None:
    if lab._runner is not None:
        lab._end_open_step()
        for layer in lab._runner.cache.layers:
            layer.store.drop()
