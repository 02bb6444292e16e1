"""What the rules make of a model when nothing can be judged yet: where its bytes will stop, and whether one long conversation stops at all.

The twin runs it: of the requests that a log tells, or, without any, of one conversation under rules that exempt the active path from
eviction and under those that do not. A forecast is not a verdict, so the finding stays `not_enough_data`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from kvlab.diagnose.budget_or_leak import budget_or_leak
from kvlab.diagnose.finding import Finding, Number
from kvlab.diagnose.known import policy_of, policy_told, shape_of
from kvlab.diagnose.outside.requests_told import Told, counts_of
from kvlab.diagnose.outside.told_twin import told_twin
from kvlab.lab.twin import Twin, lawful
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.shape import Shape
from kvlab.units import binary
from kvlab.workloads import Request, Workload
from kvlab.workloads.streams import Fresh

TURNS = 40
"""Turns of the conversation; more when they do not fill the budget."""

MOST_TURNS = 160


def rules_say(recording: Recording, thin: Finding) -> Finding:
    """Return the finding with what the rules say of the model, when its shape is known."""
    shape = shape_of(recording)
    if shape is None:
        return thin
    told = counts_of(recording)
    numbers, words = _of_requests(told, shape, policy_of(recording)) if told else _of_conversation(shape, policy_told(recording))
    return replace(thin, numbers=thin.numbers | numbers, summary=f"{thin.summary} {words}")


def _of_requests(told: tuple[Told, ...], shape: Shape, policy: Policy) -> tuple[dict[str, Number], str]:
    twin = told_twin(told, shape, policy)
    now = round(float(twin.predicted[-1]))
    numbers: dict[str, Number] = {
        "requests_told": len(told),
        "lawful_bytes_now": now,
        "lawful_growth_bytes": round(float(twin.predicted[-1] - twin.predicted[0])),
        "lawful_verdict": twin.finding.verdict,
    }
    words = (
        f"After the {len(told)} requests that are told a lawful cache of {shape.name} is reported with {binary(now)} ({twin.finding.verdict}): "
        "compare that with /api/ps now."
    )
    return numbers, words


def _of_conversation(shape: Shape, policy: Policy | None) -> tuple[dict[str, Number], str]:
    numbers: dict[str, Number] = {"whole_state_bytes": shape.state_bytes, "bytes_per_token": shape.bytes_per_token}
    if not shape.state_bytes:
        return numbers, f"{shape.name} keeps no whole states: a conversation stores {binary(shape.bytes_per_token)} for each new token and nothing twice."
    rules = {"rules of its release": policy} if policy is not None else {"active path exempt": Policy(protect="active_path"), "upstream main": Policy()}
    verdicts = {name: _conversation(shape, rule) for name, rule in rules.items()}
    numbers |= {f"conversation_verdict_{name.replace(' ', '_')}": verdict for name, verdict in verdicts.items()}
    exempt = (policy or Policy(protect="active_path")).protect == "active_path"
    words = f"What the rules say of {shape.name}: each restore point stores a whole state of {binary(shape.state_bytes)}, whatever the context length. "
    if exempt:
        words += (
            "Up to Ollama 0.34 the active path is exempt from eviction (protect=active_path): one long conversation passes the budget of "
            f"{binary((policy or Policy()).budget_bytes)} and goes on, over_budget_by_design. "
        )
    if policy is None or not exempt:
        words += "Later releases protect only its end and branch points, and it stops at the budget."
    return numbers, words.strip()


@lru_cache(maxsize=16)
def _conversation(shape: Shape, policy: Policy) -> str:
    """Return the twin's verdict on one conversation that is long enough to pass the budget."""
    policy = lawful(policy)
    turns = min(MOST_TURNS, max(TURNS, 2 * policy.budget_bytes // shape.state_bytes))
    fresh = Fresh()
    tokens, requests = fresh.take(40), list[Request]()
    for _ in range(turns):
        requests.append(Request(tokens=tokens, generated=fresh.take(24)))
        # the reply comes back rendered otherwise, as chat templates do
        tokens = tokens + fresh.take(38)
    return budget_or_leak(Twin(shape, policy).run(Workload("conversation", tuple(requests)), policy, progress=False)).verdict
