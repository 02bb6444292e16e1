"""Trial: one prefix cache from empty to its last request, every rule checked after every step, and what was seen of it.

A trial follows from its plan alone, so any part of one can be run again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from kvlab.cache.check import Checker
from kvlab.events import ChunkRan, Log, TokenOut
from kvlab.lab.span_model import SpanModel
from kvlab.policy import Policy
from kvlab.runner.runner import Runner
from kvlab.shape import Shape
from tests.tools.soak.action import Action
from tests.tools.soak.monitor import Monitor
from tests.tools.soak.observation import Observation
from tests.tools.soak.signs import EXPLAINS, SIGNS

CRASH = "crash"
"""The rule that an exception breaks."""

AT_THE_END = "all_given_back"
"""The rule that holds after the last request: once the cache is released, no snapshot is open and no byte has an owner but the weights."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a trial runs: `actions` on the twin of `shape` under `policy`."""

    policy: Policy
    shape: Shape
    actions: tuple[Action, ...]


@dataclass(frozen=True, slots=True)
class Broken:
    """A rule that was broken in request number `request` (from 1), with what the checker said."""

    request: int
    rule: str
    message: str


@dataclass(slots=True)
class Trial:
    """What came of a plan.

    Attributes:
        shown: Each sign that showed, with the first request it showed in.
        unexplained: Rules broken that no sign seen in this trial by then explains, in order.
        first: The first rule that was broken, explained or not.
        requests: How many requests ran.
    """

    shown: dict[str, int] = field(default_factory=dict[str, int])
    unexplained: list[Broken] = field(default_factory=list[Broken])
    first: Broken | None = None
    requests: int = 0


def run_trial(plan: Plan) -> Trial:
    """Run one trial to its end, or to the first exception."""
    model = SpanModel(plan.shape)
    runner = Runner(model, plan.policy, Log("spans"), Checker())
    ledger = runner.cache.ledger
    monitor, trial = Monitor(runner.cache), Trial()
    for number, action in enumerate(plan.actions, 1):
        trial.requests = number
        try:
            _run(runner, action, monitor)
        except Exception as error:  # noqa: BLE001 - whatever the engine raises is a finding of the soak
            trial.unexplained.append(Broken(number, CRASH, f"{type(error).__name__}: {error}"))
            return trial
        _judge(trial, number, monitor.observation)
    runner.cache.release()
    left = (runner.cache.registry.open, runner.cache.counted, ledger.snapshots)
    if any(left):
        trial.unexplained.append(
            Broken(trial.requests, AT_THE_END, f"after the release {left[0]} snapshots are open, {left[1]} bytes counted, {left[2]} retained")
        )
    return trial


def _run(runner: Runner, action: Action, monitor: Monitor) -> None:
    monitor.begin(action)
    chunks = replied = 0
    steps = runner.step(action.request)
    for event in steps:
        monitor.see(event)
        if isinstance(event, ChunkRan):
            chunks += 1
            if chunks == action.leave_after:
                steps.close()
        elif isinstance(event, TokenOut):
            replied += 1
            if replied == action.cancel_decode:
                runner.cancel()
    for event in runner.log.drain():
        monitor.see(event)


def _judge(trial: Trial, number: int, observation: Observation) -> None:
    for sign in SIGNS:
        if sign.id not in trial.shown and sign.shown(observation):
            trial.shown[sign.id] = number
    for rule, message in observation.rules:
        trial.first = trial.first or Broken(number, rule, message)
        if not any(one in trial.shown for one in EXPLAINS.get(rule, ())):
            trial.unexplained.append(Broken(number, rule, message))
