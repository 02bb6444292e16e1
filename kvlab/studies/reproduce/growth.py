"""A1, A2, A3 (#17875): growth by request count on qwen3.8:27b, v0.32.12, budget 8 GiB."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from kvlab.policy import Policy
from kvlab.studies.reproduce import scenes
from kvlab.studies.reproduce.models import hybrid27
from kvlab.studies.reproduce.published import Published
from kvlab.studies.reproduce.result import Aside, Made
from kvlab.studies.reproduce.run import made, run, sizes
from kvlab.units import GB
from kvlab.workloads.experiments import experiment

TOOL_RESULTS = (400, 800, 1500, 3000)
"""Tokens of a tool's result that were tried: the report does not say how long they were."""


def fifteen(published: Published) -> Made:
    """A1: 15 unrelated questions."""
    del published
    after = sizes(made("A1"))
    return Made({"size_loaded": hybrid27().weights_bytes / GB, "size_after_15": after[14] / GB})


def sixty(published: Published) -> Made:
    """A2: 60 of them."""
    del published
    after = sizes(made("A2"))
    above = after[59] - hybrid27().weights_bytes
    return Made({"size_after_60": after[59] / GB, "over_weights": above / GB, "growth_after_30": (after[59] - after[29]) / GB})


def agent(published: Published) -> Made:
    """A3: an agent session, then 15 requests that share its system prompt and tools."""
    del published
    rows: list[tuple[object, ...]] = []
    figures: dict[str, float | None] = {}
    for tokens in TOOL_RESULTS:
        recording = run(hybrid27(), scenes.agent_then_single(tool_result=tokens), Policy().amended(experiment("A3").policy))
        after = sizes(recording)
        singles = after[scenes.AGENT_CALLS :]
        last = recording.requests.row(-1, named=True)
        rows.append((tokens, *(f"{one / GB:.1f}" for one in (after[0], after[scenes.AGENT_CALLS - 1], singles[-1], last["live"]))))
        if tokens == scenes.TOOL_RESULT:
            # the first two of them still fill the branch point; later ones reach the budget
            steps = [later - earlier for earlier, later in pairwise(singles[2:8])]
            # matched counts a token less than agrees, for the draft head looks one ahead
            agreed = last["matched"] + hybrid27().look_ahead
            figures = {"size_at_end": singles[-1] / GB, "growth_per_request": median(steps) / GB, "share_matched": 100 * agreed / last["tokens"]}
    texts = made("A3")
    told, live = sizes(texts), texts.requests["live"][-1]
    rows.append(("kvlab twin A3", *(f"{one / GB:.1f}" for one in (told[0], told[scenes.AGENT_CALLS - 1], told[-1], live))))
    columns = ("tool result, tokens", "after call 1, GB", "after call 9", "after 15 more", "of which live")
    return Made(
        figures,
        (Aside("reported bytes for tool results of other lengths; `kvlab twin A3` asks in texts, in kvlab's own words for tokens", columns, tuple(rows)),),
    )
