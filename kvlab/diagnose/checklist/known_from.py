"""What a recording answers of the checklist: by item, the words of what is known. An item without an answer is missing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from kvlab.diagnose.looks import Look, looks
from kvlab.diagnose.parts import parts
from kvlab.events import LifeSign, Matched, Served
from kvlab.recording import Recording
from kvlab.units import binary

LEAST_REQUESTS = 5
"""Requests that a series has at least."""

ALIKE = 1.25
"""The longest prompt of alike ones is at most so many times the shortest."""

CONTEXTS = ("asked_context", "num_ctx", "context")
LOGS = ("ollama-log", "mlx-lm-log")
TOGETHER = ("list", "process", "footprint", "swap")


def known_from(recording: Recording) -> dict[str, str]:
    """Return the words of what is known, by item."""
    seen = looks(recording)
    told = {name: answer(recording, seen) for name, answer in _ANSWERS.items()}
    return {name: words for name, words in told.items() if words}


def _keep_alive(recording: Recording, seen: list[Look]) -> str:
    listed = recording.events.filter(pl.col("kind") == "listed")
    if not listed.height:
        return ""
    last = listed.row(-1, named=True)
    if not last["count"]:
        return f"no model is listed at the end; one was before: {'yes' if any(look.models for look in seen) else 'no'}"
    return f"listed at the end, until {last['label'] or 'a time that is not told'}"


def _together(recording: Recording, seen: list[Look]) -> str:
    del recording
    whole = [look for look in seen if look.models is not None and look.pids and look.held is not None and look.swap is not None]
    return f"in {len(whole)} looks, {', '.join(TOGETHER)}" if whole else ""


def _parts(recording: Recording, seen: list[Look]) -> str:
    del seen
    held = parts(recording)
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


def _by_requests(recording: Recording, seen: list[Look]) -> str:
    del seen
    # only requests that are alike in context, concurrency and prompt are a series of their number
    context = {request: value for value, requests in _varied(recording, CONTEXTS).items() for request in requests}
    at_once = {request: value for value, requests in _varied(recording, ("concurrency",)).items() for request in requests}
    prompts = _prompt_tokens(recording)
    alike: dict[tuple[float | None, float | None], list[float]] = {}
    for request in _figures(recording).get_column("request").unique():
        if request in prompts:
            alike.setdefault((context.get(request), at_once.get(request)), []).append(prompts[request])
    count, shortest, longest = max((_most_alike(tokens) for tokens in alike.values()), default=(0, 0, 0))
    return f"{count} requests alike ({shortest:,} to {longest:,} prompt tokens), with figures after them" if count >= LEAST_REQUESTS else ""


def _prompt_tokens(recording: Recording) -> dict[int, float]:
    """Return the tokens of the prompts by request, as far as they are told."""
    rows = recording.observed.filter((pl.col("gauge") == "prompt_tokens") & (pl.col("number") > 0)).select("request", "number")
    return dict(rows.iter_rows()) | dict(recording.requests.filter(pl.col("tokens") > 0).select("request", "tokens").iter_rows())


def _most_alike(tokens: list[float]) -> tuple[int, int, int]:
    """Return how many prompts are alike, when most are, and the tokens of the shortest and the longest of them; else zeros."""
    told, first, best = sorted(tokens), 0, (0, 0, 0)
    for place, longest in enumerate(told):
        while longest > ALIKE * told[first]:
            first += 1
        best = max(best, (place - first + 1, round(told[first]), round(longest)))
    # of prompts that grow from turn to turn the last ones are near each other, too: that is no series of alike ones
    return best if 2 * best[0] >= len(tokens) else (0, 0, 0)


def _by_context(recording: Recording, seen: list[Look]) -> str:
    del seen
    varied = _varied(recording, CONTEXTS)
    return f"contexts {', '.join(str(round(value)) for value in sorted(varied))}" if len(varied) > 1 and _figures(recording).height else ""


def _by_concurrency(recording: Recording, seen: list[Look]) -> str:
    del seen
    varied = _varied(recording, ("concurrency",))
    return f"{', '.join(str(round(value)) for value in sorted(varied))} at once" if len(varied) > 1 and _figures(recording).height else ""


def _unload_answered(recording: Recording, seen: list[Look]) -> str:
    del seen
    signs = _signs(recording, "unload_accepted", "unload_refused")
    return f"{signs[-1]['state'].removeprefix('unload_')}: {signs[-1]['message']}" if signs else ""


def _old_process_gone(recording: Recording, seen: list[Look]) -> str:
    signs = _signs(recording, "unload_verified", "left_behind")
    if signs:
        verified = signs[-1]["state"] == "unload_verified"
        return f"yes: {signs[-1]['message']}" if verified else f"no: {signs[-1]['message']}"
    if not any(look.pids for look in seen):
        return ""
    from kvlab.diagnose.unload_seen import unload_seen  # the same looks, judged

    found = unload_seen(recording)
    if found is None or not found.old_pids or found.verdict not in ("all_but_process_base", "process_left_behind"):
        return ""
    return f"{'yes' if found.verdict == 'all_but_process_base' else 'no'}: {found.why}"


def _loaded_again(recording: Recording, seen: list[Look]) -> str:
    del seen
    signs = _signs(recording, "loaded_again")
    if not signs:
        return ""
    stopped = recording.requests.filter(pl.col("stop").is_in(["cancelled", "failed"])).height
    return f"in {signs[-1]['seconds']:.1f} s; {stopped} request{'' if stopped == 1 else 's'} interrupted"


def _logs_kept(recording: Recording, seen: list[Look]) -> str:
    del seen
    made = recording.manifest
    if made.source in LOGS:
        return "this recording is of the server's log"
    # only a log tells these to a probe
    told = recording.events.get_column("kind").is_in([Served.kind, Matched.kind]).any()
    return "the server's log was read along" if made.source == "probe" and told else ""


def _figures(recording: Recording) -> pl.DataFrame:
    gauges = ["size", "size_vram", "footprint", "rss", "resident", "reported"]
    return recording.observed.filter(pl.col("gauge").is_in(gauges) & (pl.col("request") > 0) & pl.col("value").is_not_null())


def _varied(recording: Recording, gauges: tuple[str, ...]) -> dict[float, list[int]]:
    """Return the requests by what was told to vary."""
    rows = recording.observed.filter(pl.col("gauge").is_in(gauges) & (pl.col("request") > 0) & pl.col("number").is_not_null())
    found: dict[float, list[int]] = {}
    for request, number in rows.select("request", "number").unique(maintain_order=True).iter_rows():
        found.setdefault(number, []).append(request)
    return found


def _signs(recording: Recording, *states: str) -> list[dict[str, Any]]:
    return recording.events.filter((pl.col("kind") == LifeSign.kind) & pl.col("state").is_in(states)).select("state", "seconds", "message").to_dicts()


_ANSWERS: dict[str, Callable[[Recording, list[Look]], str]] = {
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
