"""Life: one prefix cache from empty to its last request, every rule checked after every step, and what was seen of it.

A life follows from its plan alone, so any part of one can be lived again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kvlab.cache.check import Checker
from kvlab.events import ChunkRan, Log, TokenOut
from kvlab.lab.span_model import SpanModel
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.shape import Shape
from tests.tools.soak.ask import Ask
from tests.tools.soak.sight import Sight
from tests.tools.soak.signs import EXPLAINS, SIGNS
from tests.tools.soak.witness import Witness

CRASH = "crash"
"""The rule that an exception breaks."""

AT_THE_END = "all_given_back"
"""The rule that holds after the last request: once the cache is released, no snapshot is open and no byte has an owner but the weights."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a life lives through: `asks` on the twin of `shape` under `policy`."""

    policy: Policy
    shape: Shape
    asks: tuple[Ask, ...]


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that was broken in request number `request` (from 1), with what the checker said."""

    request: int
    rule: str
    message: str


@dataclass(slots=True)
class Life:
    """What came of a plan.

    Attributes:
        shown: Each sign that showed, with the first request it showed in.
        unexplained: Rules broken that no sign seen in this life by then explains, in order.
        first: The first rule that was broken, explained or not.
        requests: How many requests ran.
    """

    shown: dict[str, int] = field(default_factory=dict[str, int])
    unexplained: list[Broken] = field(default_factory=list[Broken])
    first: Broken | None = None
    requests: int = 0


def live(plan: Plan) -> Life:
    """Live one life to its end, or to the first exception."""
    model = SpanModel(plan.shape)
    runner = Runner(model, plan.policy, Log("spans"), Checker())
    ledger = runner.cache.ledger
    model.meter.retained = lambda: ledger.retained
    witness, life = Witness(runner.cache), Life()
    for number, ask in enumerate(plan.asks, 1):
        life.requests = number
        try:
            _run(runner, ask, witness)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises is a finding of the soak
            life.unexplained.append(Broken(number, CRASH, f"{type(error).__name__}: {error}"))
            return life
        _judge(life, number, witness.sight)
    runner.cache.release()
    left = (runner.cache.registry.open, runner.cache.counted, ledger.snapshots)
    if any(left):
        life.unexplained.append(
            Broken(life.requests, AT_THE_END, f"after the release {left[0]} snapshots are open, {left[1]} bytes counted, {left[2]} retained")
        )
    return life


def _run(runner: Runner, ask: Ask, witness: Witness) -> None:
    witness.begin(ask)
    chunks = said = 0
    steps = runner.step(ask.request)
    for event in steps:
        witness.see(event)
        if isinstance(event, ChunkRan):
            chunks += 1
            if chunks == ask.leave_after:
                steps.close()
        elif isinstance(event, TokenOut):
            said += 1
            if said == ask.cancel_decode:
                runner.cancel()
    for event in runner.log.drain():
        witness.see(event)


def _judge(life: Life, number: int, sight: Sight) -> None:
    for sign in SIGNS:
        if sign.id not in life.shown and sign.shown(sight):
            life.shown[sign.id] = number
    for rule, message in sight.rules:
        life.first = life.first or Broken(number, rule, message)
        if not any(one in life.shown for one in EXPLAINS.get(rule, ())):
            life.unexplained.append(Broken(number, rule, message))
