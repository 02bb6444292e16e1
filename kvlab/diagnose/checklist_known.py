"""What a recording answers of the checklist: by item, the words of what is known. An item without an answer is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from kvlab.diagnose.missing import LOGS
from kvlab.diagnose.unload_seen import unload_seen
from kvlab.events import Matched, Served
from kvlab.recording.facts import Facts
from kvlab.recording.facts.facts import CONTEXTS
from kvlab.units import binary

LEAST_REQUESTS = 5
"""Requests that a series has at least."""

ALIKE = 1.25
"""The longest prompt of alike ones is at most so many times the shortest."""

TOGETHER = ("list", "process", "footprint", "swap")


def known_from(facts: Facts) -> dict[str, str]:
    """Return the words of what is known, by item."""
    known = {name: answer(facts) for name, answer in _ANSWERS.items()}
    return {name: words for name, words in known.items() if words}


def _keep_alive(facts: Facts) -> str:
    listed = facts.of_kind("listed")
    if not listed.height:
        return ""
    last = listed.row(-1, named=True)
    if not last["count"]:
        return f"no model is listed at the end; one was before: {'yes' if any(one.models for one in facts.samples) else 'no'}"
    return f"listed at the end, until {last['label'] or 'a time that is not recorded'}"


def _together(facts: Facts) -> str:
    whole = [one for one in facts.samples if one.models is not None and one.pids and one.held is not None and one.swap is not None]
    return f"in {len(whole)} samples, {', '.join(TOGETHER)}" if whole else ""


def _parts(facts: Facts) -> str:
    held = facts.parts
    inside = [name for name in ("weights", "live", "snapshots", "pool") if name in held.bytes]
    outside = [name for name in ("gpu", "heap", "mapped") if name in held.bytes]
    arrays = "weights" in held.bytes or "gpu" in held.bytes or ("size" in held.bytes and "heap" in held.bytes)
    split = "mapped" in held.bytes and "heap" in held.bytes
    size, anonymous, mapped = held.get("size"), held.get("anonymous"), held.get("mapped")
    if not arrays and size is not None and anonymous is not None and mapped is not None:
        # a process that is not charged with its arrays, as with a GPU on Linux: what it has to itself is heap
        return f"arrays as listed (weights and KV together) {binary(size)}, heap {binary(anonymous)}, mapped {binary(mapped)}"
    if not (arrays and (split or "weights" in held.bytes)):
        return ""
    return ", ".join(f"{name} {binary(held.bytes[name])}" for name in (*inside, *outside))


def _by_requests(facts: Facts) -> str:
    # only requests that are alike in context, concurrency and prompt are a series of their number
    context, at_once, prompts = _sent(facts, *CONTEXTS), _sent(facts, "concurrency"), _prompt_tokens(facts)
    alike: dict[tuple[float | None, float | None], list[float]] = {}
    for request in _figures(facts).get_column("request").unique():
        if request in prompts:
            alike.setdefault((context.get(request), at_once.get(request)), []).append(prompts[request])
    count, shortest, longest = max((_most_alike(tokens) for tokens in alike.values()), default=(0, 0, 0))
    return f"{count} requests alike ({shortest:,} to {longest:,} prompt tokens), with figures after them" if count >= LEAST_REQUESTS else ""


def _prompt_tokens(facts: Facts) -> dict[int, float]:
    """Return the tokens of the prompts by request, as far as they were recorded."""
    recorded = {request: tokens for request, tokens in _sent(facts, "prompt_tokens").items() if tokens > 0}
    return recorded | dict(facts.requests.filter(pl.col("tokens") > 0).select("request", "tokens").iter_rows())


def _most_alike(tokens: list[float]) -> tuple[int, int, int]:
    """Return how many prompts are alike, when most are, and the tokens of the shortest and the longest of them; else zeros."""
    ordered, first, best = sorted(tokens), 0, (0, 0, 0)
    for place, longest in enumerate(ordered):
        while longest > ALIKE * ordered[first]:
            first += 1
        best = max(best, (place - first + 1, round(ordered[first]), round(longest)))
    # of prompts that grow from turn to turn the last ones are near each other, too: that is no series of alike ones
    return best if 2 * best[0] >= len(tokens) else (0, 0, 0)


def _by_context(facts: Facts) -> str:
    return _values(facts, "contexts {}", *CONTEXTS)


def _by_concurrency(facts: Facts) -> str:
    return _values(facts, "{} at once", "concurrency")


def _values(facts: Facts, words: str, *gauges: str) -> str:
    """Return the values with which requests were sent, in words, where there are several and figures after the requests; else ""."""
    values = sorted(set(_sent(facts, *gauges).values()))
    return words.format(", ".join(str(round(value)) for value in values)) if len(values) > 1 and _figures(facts).height else ""


def _unload_answered(facts: Facts) -> str:
    signs = _signs(facts, "unload_accepted", "unload_refused")
    return f"{signs[-1]['state'].removeprefix('unload_')}: {signs[-1]['message']}" if signs else ""


def _old_process_gone(facts: Facts) -> str:
    signs = _signs(facts, "unload_verified", "left_behind")
    if signs:
        return f"{'yes' if signs[-1]['state'] == 'unload_verified' else 'no'}: {signs[-1]['message']}"
    seen = unload_seen(facts.samples)
    if seen is None or not seen.old_pids or seen.listed_again is None or seen.listed_again or seen.settled == "no":
        return ""
    if seen.left_behind:
        return f"no: no longer listed, and process {', '.join(map(str, seen.alive_pids))} lives"
    return f"yes: no longer listed; process {', '.join(map(str, seen.old_pids))} is gone"


def _loaded_again(facts: Facts) -> str:
    signs = _signs(facts, "loaded_again")
    if not signs:
        return ""
    stopped = facts.requests.filter(pl.col("stop").is_in(["cancelled", "failed"])).height
    return f"in {signs[-1]['seconds']:.1f} s; {stopped} request{'' if stopped == 1 else 's'} interrupted"


def _logs_kept(facts: Facts) -> str:
    if facts.source in LOGS:
        return "this recording is of the server's log"
    # only a log has these for a probe
    read = facts.recording.events.get_column("kind").is_in([Served.kind, Matched.kind]).any()
    return "the server's log was read with it" if facts.source == "probe" and read else ""


def _figures(facts: Facts) -> pl.DataFrame:
    gauges = ["size", "size_vram", "footprint", "rss", "resident", "reported"]
    return facts.observed.filter(pl.col("gauge").is_in(gauges) & (pl.col("request") > 0) & pl.col("value").is_not_null())


def _sent(facts: Facts, *gauges: str) -> dict[int, float]:
    """Return what requests were sent with, by request."""
    rows = facts.observed.filter(pl.col("gauge").is_in(gauges) & (pl.col("request") > 0) & pl.col("number").is_not_null())
    return dict(rows.select("request", "number").iter_rows())


def _signs(facts: Facts, *states: str) -> list[dict[str, Any]]:
    return facts.signs.filter(pl.col("state").is_in(states)).to_dicts()


_ANSWERS: dict[str, Callable[[Facts], str]] = {
    "keep_alive": _keep_alive,
    "read_together": _together,
    "parts_separated": _parts,
    "by_requests": _by_requests,
    "by_context": _by_context,
    "by_concurrency": _by_concurrency,
    "unload_answered": _unload_answered,
    "old_process_gone": _old_process_gone,
    "loaded_again": _loaded_again,
    "logs_kept": _logs_kept,
}
