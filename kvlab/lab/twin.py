"""Twin: the runner on span counts. It predicts, for any shape and at any scale, what a cache holds, to the byte."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property

from kvlab.cache.check import Checker
from kvlab.display import Rich
from kvlab.events import NullLog, WrongPositions
from kvlab.lab.outlook import Outlook, outlook
from kvlab.lab.source import Prediction, Source
from kvlab.lab.span_model import SpanModel
from kvlab.models.config.provenance import FITTED, Provenance
from kvlab.policy import Policy
from kvlab.recording import caveats
from kvlab.runner.runner import Runner
from kvlab.shape import Shape
from kvlab.workloads import Request, Workload


def expected_policy(policy: Policy) -> Policy:
    """Return `policy` with upstream main's choice where another one keeps bytes alive that nothing counts, or overwrites what is kept."""
    main = Policy()
    return policy.replace(**{choice: getattr(main, choice) for choice in ("capture_as", "copy_before_overwrite", "lifetimes", "draft_states")})


MOST_DETAILED_REQUESTS = 500
"""Longer runs of the twin without a reader leave out what `kvlab.recording.caveats` names, and their manifest says so."""


class Twin(Source, Rich):
    """A model from its shape alone.

    Attributes:
        provenance: Where the shape's figures come from, by layer kind and by field; empty when unknown.
    """

    source = "twin"
    events_source = "spans"
    has_text = False

    def __init__(self, shape: Shape, policy: Policy | None = None, provenance: Mapping[str, Provenance] | None = None) -> None:
        self.provenance = dict(provenance or {})
        super().__init__(self._span_model(shape), policy or Policy())

    @cached_property
    def outlook(self) -> Outlook:
        """What short requests that share nothing do to its cache, under the policy that it was opened with."""
        return outlook(lambda policy: Twin(self.shape, policy), self._default)

    def _fresh(self, policy: Policy, checker: Checker | None, *, call_sites: bool = False) -> Runner:
        # A new model, so that a twin's replies are the same tokens in every run.
        self._model = self._span_model(self.shape)
        return super()._fresh(policy, checker, call_sites=call_sites)

    def _span_model(self, shape: Shape) -> SpanModel:
        made = SpanModel(shape)
        if fitted := [name for name, one in self.provenance.items() if one.status == FITTED]:
            made.origin[caveats.FITTED] = ", ".join(fitted)
        return made

    def _records_all(self, work: Workload) -> bool:
        return len(work) <= MOST_DETAILED_REQUESTS

    def _prediction(self, policy: Policy, *, check: bool) -> Prediction:
        del check
        # Under the expected policy the twin is its own prediction.
        return _echo if policy == expected_policy(policy) else shadow(self.shape, policy)


def _echo(runner: Runner, request: Request, stop: str) -> None:
    del stop
    if not request.action:
        runner.log.append(replace(runner.closing, source="twin"))


def shadow(shape: Shape, policy: Policy) -> Prediction:
    """Return a twin that follows a run under the expected policy: after each request it writes its own bytes into the run's log, with source `twin`."""
    twin = Runner(SpanModel(shape), expected_policy(policy), NullLog())

    def predict(runner: Runner, request: Request, stop: str) -> None:
        if request.action:
            twin.unload()
            return
        for _ in twin.step(_as_run(runner, request, stop)):
            pass
        runner.log.append(replace(twin.closing, source="twin"))

    return predict


def owners(shape: Shape, policy: Policy) -> Prediction:
    """Return a twin that follows a run under the run's own rules and is checked: restored positions that are wrong go into the run's log, with who wrote them.

    Real arrays do not say who wrote them.
    """
    twin = Twin(shape, policy)
    twin.check_steps()

    def predict(runner: Runner, request: Request, stop: str) -> None:
        for event in twin.step(_as_run(runner, request, stop)):
            if isinstance(event, WrongPositions):
                runner.log.append(replace(event, source="twin"))

    return predict


def _as_run(runner: Runner, request: Request, stop: str) -> Request:
    """Return a request that just closed as the tokens that it had and got; an action as it is."""
    if request.action:
        return request
    prompt, reply = runner.last
    cut = runner.cache.offset if stop == "cancelled" and not reply else request.cancel_after
    return Request(
        tokens=tuple(prompt),
        generated=tuple(reply),
        cancel_after=cut,
        media=request.media,
        ends=tuple(runner.ends),
        segments=tuple(runner.segments),
        think_s=request.think_s,
        score=request.score,
        score_shared=request.score_shared,
    )
