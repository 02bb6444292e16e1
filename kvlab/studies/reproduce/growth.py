"""Sizes that grow request by request: A1, A2, A3, E2 (#17875), E1 (#18099), D4 (PR#18353), #17783 and #17924."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

import polars as pl

from kvlab.events import BytesRead
from kvlab.findings import facts
from kvlab.policy import Policy
from kvlab.studies.reproduce import scenes
from kvlab.studies.reproduce.published import Published
from kvlab.studies.reproduce.result import Made, Table
from kvlab.studies.reproduce.scenes import hybrid27, hybrid35, run, run_named, sizes, sliding31
from kvlab.units import GB, GIB, MIB
from kvlab.workloads.experiments import experiment
from kvlab.workloads.series import CONTEXTS

TOOL_RESULTS = (400, 800, 1500, 3000)
"""Tokens of a tool's result that were tried: the report of A3 does not give them."""

SETTLED = 3
"""Requests of E1's first block after which each leaves the same: the first ones store the template."""

TURNS = (11, 21, 31, 41, 50)
GEMMA_TURNS = 63

SHORT_REQUESTS = 1850
"""Of #17924: 60 to the plateau and the 1,790 after it."""

AT = (10, 20, 30)
"""Requests after which #17924 gives a size."""


def fifteen(published: Published) -> Made:
    """A1: 15 unrelated questions."""
    del published
    after = sizes(run_named("A1"))
    return Made({"size_loaded": hybrid27().weights_bytes / GB, "size_after_15": after[14] / GB})


def reloaded(published: Published) -> Made:
    """E2: what is in use after the last of four loads, each but the first after an unload."""
    del published
    read = run_named("E2").rows(BytesRead)
    return Made({"size_reloaded": read.filter(pl.col("phase") == "load").item(-1, "active") / GB})


def sixty(published: Published) -> Made:
    """A2: 60 of them."""
    del published
    after = sizes(run_named("A2"))
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
            # matched counts a token less than agrees, for the draft head has a look-ahead of one
            agreed = last["matched"] + hybrid27().look_ahead
            figures = {"size_at_end": singles[-1] / GB, "growth_per_request": median(steps) / GB, "share_matched": 100 * agreed / last["tokens"]}
    texts = run_named("A3")
    after, live = sizes(texts), texts.requests["live"][-1]
    rows.append(("kvlab twin A3", *(f"{one / GB:.1f}" for one in (after[0], after[scenes.AGENT_CALLS - 1], after[-1], live))))
    columns = ("tool result, tokens", "after call 1, GB", "after call 9", "after 15 more", "of which live")
    title = "reported bytes for tool results of other lengths; `kvlab twin A3` sends texts, in kvlab's own words for tokens"
    return Made(figures, (Table(title, columns, tuple(rows)),))


def by_context(published: Published) -> Made:
    """E1: what a request of the first and of the last block of contexts leaves, while the budget is not full. A process's own heap is no twin's."""
    del published
    recording = run_named("E1:context")
    full = min(facts(recording).evicted_in())
    each = recording.requests.height // len(CONTEXTS)
    grown = recording.requests["paged_out"].diff().to_list()
    first, last = grown[SETTLED:each], grown[each * (len(CONTEXTS) - 1) : full - 1]
    return Made({"context_growth": 100 * (sum(last) / len(last) / (sum(first) / len(first)) - 1)})


def fifty_turns(published: Published) -> Made:
    """D4: both arms of the table, with the active path exempt from eviction and without, and gemma4's growth per turn."""
    del published
    figures: dict[str, float | None] = {"weights": hybrid27().weights_bytes / GIB}
    for arm, name in (("before", "D4:before"), ("after", "D4")):
        recording = run_named(name)
        after = sizes(recording)
        for turn in TURNS:
            row = recording.requests.row(turn - 1, named=True)
            figures |= {
                f"{arm}_{turn}_paged_out": row["paged_out"] / GIB,
                f"{arm}_{turn}_nodes": row["nodes"],
                f"{arm}_{turn}_reported": after[turn - 1] / GIB,
            }
    counted = run(sliding31(), scenes.chat(GEMMA_TURNS), Policy(protect="active_path")).requests["counted"]
    figures["gemma4_per_turn"] = (counted[-1] - counted[-2]) / MIB
    return Made(figures)


def one_question(published: Published) -> Made:
    """#17783: SIZE over the turns of one conversation."""
    del published
    chats = {"its own question": scenes.same_question(10), "D4's chat": scenes.chat(10)}
    after = {name: [size / GB for size in sizes(run(sliding31(), chat, Policy.ollama("0.32.4")))] for name, chat in chats.items()}
    rows = tuple((name, *(f"{size:.1f}" for size in held)) for name, held in after.items())
    title = "size after each turn, GB, with questions and answers of other lengths"
    table = Table(title, ("chat", *(str(turn) for turn in range(1, 11))), rows)
    return Made({"size_at_start": sliding31().weights_bytes / GB, "size_at_turn_10": after["its own question"][9]}, (table,))


def short_prompts(published: Published) -> Made:
    """#17924: a fixed gain per request until the budget is full (qwen3.6:35b, v0.32.15)."""
    after = [one / GIB for one in sizes(run(hybrid35(), scenes.short_prompts(SHORT_REQUESTS), Policy.ollama("0.32.15")))]
    full = next(place for place, size in enumerate(after, 1) if size > max(after) - 0.1)
    rate = (after[29] - after[9]) / 20
    later = sum(after[-60:]) / 60 - sum(after[60:120]) / 60
    figures = {"rate_16384": rate, "rate_4096": rate, "plateau": max(after), "full_after": full, "gained_later": later}
    figures |= {f"after_{count}": after[count - 1] for count in AT}
    rows = tuple((count, f"{published.value(f'after_{count}'):.1f}", f"{after[count - 1] - published.value(f'after_{count}'):+.2f}") for count in AT)
    title = f"residuals of one fitted length: prompts of {scenes.SHORT_PROMPT:,} tokens, GiB"
    return Made(figures, (Table(title, ("after requests", "published", "ours - published"), rows),))
