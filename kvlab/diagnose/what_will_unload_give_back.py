"""Question 4: what will unload, clear or stop give back, and when is a reading settled?

In this order: an unload that a client sent and watched; a model that left a list; a runner that lives though none is listed; figures on both sides
of a restart or a clear; a log that ends with its runner stopped. Without any it is a forecast: ending the process gives back weights, live buffers,
snapshots and pool together, and leaves the process's base. Clearing the cache alone gives snapshots to the pool first, which the process keeps.

- `all_but_process_base`: no longer listed, and the process that held the model is gone (or the server holds it itself), or a forecast.
- `process_left_behind`: no longer listed, and the old process lives, or answered the next request.
- `still_loaded`: accepted, and still listed; or refused.
- `not_settled`: neither proved nor disproved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl

from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number
from kvlab.diagnose.missing import unanswered
from kvlab.diagnose.unload_seen import UnloadSeen, unload_seen
from kvlab.probe.changes import MUCH, SETTLE_S
from kvlab.probe.rows import request_rows
from kvlab.recording.extremes import largest
from kvlab.recording.facts import Facts
from kvlab.recording.facts.samples import Sample
from kvlab.units import binary

QUESTION = "what_will_unload_give_back"

FORECAST = ("weights", "live", "snapshots", "pool", "compute_buffer")
"""What ending the process gives back, part by part."""

SENT = ("unload_asked", "restart_asked")
ACCEPTED = (*SENT, "unload_accepted")
WATCHED = ("unload_verified", "left_behind", "unload_refused", "not_settled", "unlisted", "not_restarted")
"""Signs of a client that watched what became of an unload."""

ACROSS = ("container", "footprint", "gpu_used", "rss", "size")
"""Gauges whose figures on both sides of a restart say what it gave back, the surest first."""

FELL = 0.5
"""The share by which a figure falls when what held it is gone."""

Row = dict[str, Any]


def what_will_unload_give_back(facts: Facts) -> Finding:
    """Answer what an unload gives back, from what followed one, else as a forecast."""
    for answer in _ANSWERS:
        found = answer(facts)
        if found is not None:
            return found
    return _forecast(facts)


def _finding(verdict: str, summary: str, numbers: dict[str, Number], confidence: Confidence, evidence: Evidence, refuted_by: str = "") -> Finding:
    return Finding(QUESTION, verdict, summary, numbers, confidence, (evidence,), refuted_by or _REFUTED_BY[verdict])


def _watched(facts: Facts) -> Finding | None:
    """Return the answer of the signs of a client that sent an unload and watched it; None when there are none."""
    signs = facts.signs
    if not signs["state"].is_in(SENT).any() or not (facts.source == "probe" or signs["state"].is_in(WATCHED).any()):
        return None
    not_done = signs.filter(pl.col("state") == "not_restarted")["request"].to_list()
    sent: list[int] = signs.filter(pl.col("state").is_in(SENT) & ~pl.col("request").is_in(not_done))["request"].to_list()
    if not sent:
        return None
    states: list[list[str]] = [signs.filter(pl.col("request") == request)["state"].to_list() for request in sent]
    again = signs.filter(pl.col("state") == "loaded_again")
    by_old = signs.filter((pl.col("state") == "left_behind") & ~pl.col("request").is_in(sent)).height
    refused = any("unload_refused" in one or ("unload_accepted" in one and "unlisted" not in one and "not_settled" in one) for one in states)
    verdict = "all_but_process_base" if all("unload_verified" in one for one in states) else "not_settled"
    if refused:
        verdict = "still_loaded"
    elif by_old or any("left_behind" in one for one in states):
        verdict = "process_left_behind"
    waited = signs.filter(pl.col("state") == "unload_verified")["seconds"]
    numbers: dict[str, Number] = {
        "unloads": len(sent),
        "of_them_restarts": signs.filter(pl.col("state") == "restart_asked").height - len(not_done),
        "verified": sum("unload_verified" in one for one in states),
        "left_behind": sum("left_behind" in one for one in states) + by_old,
        "refused": sum("unload_refused" in one for one in states),
        "loaded_again": again.height,
        "longest_release_s": None if waited.is_empty() else largest(waited),
        "longest_load_s": None if again.is_empty() else largest(again["seconds"]),
        **_bytes_around(facts, sent[-1]),
    }
    rows = signs.filter(pl.col("request").is_in(sent) | pl.col("state").is_in(["loaded_again", "left_behind"])).to_dicts()
    words = _WATCHED[verdict] + _words_around(numbers)
    sure: Confidence = "high" if facts.recording.complete and verdict != "not_settled" else "medium"
    return _finding(verdict, words, numbers, sure, Evidence("events", tuple(rows)))


def _bytes_around(facts: Facts, unload: int) -> dict[str, Number]:
    """Return what the last unload changed: the sample before it and the one after it."""
    rows: dict[int, Row] = {row["request"]: row for row in request_rows(facts.recording).iter_rows(named=True)}
    before, after = rows.get(unload - 1, {}), rows.get(unload, {})
    same = before.get("runner_pid") == after.get("runner_pid")
    return {
        "size_before_bytes": before.get("size"),
        "footprint_before_bytes": before.get("footprint"),
        # of another process it would say nothing: the old one's bytes went with it
        "footprint_after_bytes": after.get("footprint") if same else 0 if before else None,
        "available_before_bytes": before.get("available"),
        "available_after_bytes": after.get("available"),
    }


def _words_around(numbers: dict[str, Number]) -> str:
    size, footprint, left = numbers["size_before_bytes"], numbers["footprint_before_bytes"], numbers["footprint_after_bytes"]
    words = f" {numbers['verified']} of {numbers['unloads']} unloads are proved."
    if isinstance(size, int):
        words += f" Before the last one the server listed {binary(size)}"
        words += f" and its process held {binary(footprint)}; after it {binary(left)}." if isinstance(footprint, int) and isinstance(left, int) else "."
    return words


def _unlisted(facts: Facts) -> Finding | None:
    """Return the answer where a model left the list."""
    timed = facts.source == "probe" or len({one.t for one in facts.samples}) > 1
    seen = unload_seen(facts.samples, timed=timed)
    if seen is None:
        return None
    verdict, why = _judged(seen)
    before, after = seen.before, seen.after
    held = _less(before.held, after.held)
    numbers: dict[str, Number] = {
        "is_forecast": "no",
        "waited_s": round(seen.waited_s, 1),
        "settled_by": seen.settled,
        "listed_before_bytes": before.size,
        "listed_given_back_bytes": _less(before.size, after.size),
        "process_held_before_bytes": before.held,
        "process_given_back_bytes": held,
        "old_pids": list(seen.old_pids),
        "alive_pids": list(seen.alive_pids),
    }
    settled = {"two equal readings": "two readings were equal", "time": f"{seen.waited_s:.0f} s have passed", "no": "readings had not settled"}[seen.settled]
    settled = settled if timed else "the times are not recorded"
    next_step = " Sample for longer: kvlab probe --watch 15." if verdict == "not_settled" else ""
    base = " What the server's own process holds stays." if verdict == "all_but_process_base" and seen.old_pids else ""
    rows = tuple(map(_row, (before, after)))
    sure: Confidence = "low" if not seen.old_pids or verdict == "not_settled" else "high" if timed else "medium"
    return _finding(verdict, f"After the unload: {why}; {settled}.{_freed(held)}{base}{next_step}", numbers, sure, Evidence("samples", rows))


def _row(one: Sample) -> Row:
    return {"t": one.t, "listed": sorted(one.models or ()), "pids": sorted(one.pids), "size": one.size, "footprint": one.held}


def _judged(seen: UnloadSeen) -> tuple[str, str]:
    """Return the verdict on an unload that samples show, and why."""
    if seen.listed_again is None:
        return "not_settled", "the list of models was not read at the end"
    if seen.listed_again:
        return "still_loaded", f"{', '.join(sorted(seen.listed_again))} is listed again"
    if seen.settled == "no":
        return "not_settled", f"neither two equal readings nor {SETTLE_S:g} s have passed since"
    if seen.left_behind:
        return "process_left_behind", f"no longer listed, and the process that held it lives ({', '.join(map(str, seen.alive_pids))})"
    gone = ", ".join(str(pid) for pid in seen.old_pids if pid not in seen.alive_pids)
    why = f"process {gone} is gone" if gone else "no process of it was seen, so only the list says so"
    return "all_but_process_base", f"no longer listed; {why}"


def _less(before: int | None, after: int | None) -> int | None:
    return None if before is None else before - (after or 0)


def _freed(freed: int | None) -> str:
    if freed is None:
        return ""
    if freed < 0:
        return f" The processes hold {binary(-freed)} more than before: others allocated meanwhile, so this difference is not what the unload freed."
    return f" {binary(freed)} of the processes' footprint went with it."


def _living_runner(facts: Facts) -> Finding | None:
    """Return the answer where a runner lives though no sample ever listed a model: unloaded earlier and left behind, or about to load."""
    seen = facts.samples
    if not seen or any(one.models for one in seen) or all(one.models is None for one in seen):
        return None
    last = next((one for one in reversed(seen) if one.pids), seen[-1])
    pids = last.pids & facts.children
    probed = facts.source == "probe"
    if not pids or (probed and ((last.held or 0) < MUCH or any(one.models is None for one in seen))):
        return None
    since = last.t
    for one in reversed(seen):
        if not pids <= one.pids:
            break
        since = one.t
    stays = last.t - since >= SETTLE_S or not probed
    holds = f" and holds {binary(last.held)}" if last.held else ""
    who = f"process {', '.join(map(str, sorted(pids)))}, which the server started, lives{holds}"
    waited = f"It has for {last.t - since:.0f} s: what" if last.t > since else "What"
    judged = (
        f"{waited} was loaded before is not released. Ending the process gives it back."
        if stays
        else "It may be ending, about to load, or left behind: sample for longer, kvlab probe --watch 15."
    )
    numbers: dict[str, Number] = {"is_forecast": "no", "alive_pids": sorted(pids), "process_held_bytes": last.held, "watched_s": round(last.t - since, 1)}
    sure: Confidence = "medium" if stays and last.t > since else "low"
    verdict = "process_left_behind" if stays else "not_settled"
    return _finding(
        verdict, f"No model is listed, and {who}. {judged}", numbers, sure, Evidence("samples", (_row(last),)), "a later sample in which the process is gone"
    )


def _restarted(facts: Facts) -> Finding | None:
    """Return the answer where figures of one gauge were read on both sides of a restart or an unload that was only accepted."""
    moments = facts.signs.filter(pl.col("state").is_in(ACCEPTED))
    # a probe watched what it sent
    if not moments.height or facts.source == "probe":
        return None
    first, last = int(moments.item(0, "seq")), int(moments.item(-1, "seq"))
    listed = facts.of_kind("listed").filter(pl.col("seq") > last)
    if listed.height and listed.item(-1, "count"):
        return _still_listed(facts, listed, float(moments.item(-1, "t")))
    for gauge in ACROSS:
        rows = facts.figures(gauge)
        before, after = rows.filter(pl.col("seq") < first), rows.filter(pl.col("seq") > last)
        if not (before.height and after.height):
            continue
        held, left = int(before.item(-1, "value")), int(after.item(-1, "value"))
        fell = left <= (1 - FELL) * held
        numbers: dict[str, Number] = {"is_forecast": "no", "gauge": gauge, "held_before_bytes": held, "held_after_bytes": left, "give_back_bytes": held - left}
        evidence = Evidence("observed", ({"gauge": gauge, "before": held, "after": left},))
        came = f"{binary(held - left)} came back" if fell else "it gave nothing back, or the next load is in the second figure"
        words = f"{gauge.capitalize()} went from {binary(held)} to {binary(left)} across it: {came}."
        return _finding("all_but_process_base" if fell else "not_settled", words, numbers, "medium" if fell else "low", evidence)
    accepted = " Accepted means that it was taken, not that it is done." if moments["state"].is_in(["unload_accepted"]).any() else ""
    held = facts.parts.held
    before_words = f" {binary(held)} were held when last read." if held is not None else ""
    words = f"An unload was sent, and nothing was read after it.{accepted}{before_words} Check the list and the old process: kvlab probe --watch 15."
    row = {"state": moments.item(-1, "state"), "message": moments.item(-1, "message")}
    return _finding("not_settled", words, {"is_forecast": "no", "held_before_bytes": held}, "low", Evidence("events", (row,)))


def _still_listed(facts: Facts, listed: pl.DataFrame, sent: float) -> Finding:
    """Return the answer where a model is listed after an unload was sent."""
    held, waited = facts.parts.held, float(facts.recording.events.item(-1, "t")) - sent
    late = f" {waited:.0f} s later" if waited > 0 else ""
    numbers: dict[str, Number] = {"is_forecast": "no", "waited_s": round(waited, 1), "held_before_bytes": held}
    back = f" {binary(held)} come back when it ends." if held is not None else ""
    words = f"An unload was sent, and {listed.item(-1, 'model')} is still listed{late}.{_stopping(facts)}{back}"
    return _finding("still_loaded", words, numbers, "medium", Evidence("events", tuple(listed.select("t", "model", "label").tail(2).to_dicts())))


def _settling(facts: Facts) -> Finding | None:
    """Return the answer where one quantity was read again and again after a clear or an unload."""
    rows = facts.observed.filter((pl.col("gauge") == "settling") & pl.col("value").is_not_null())
    if not rows.height:
        return None
    # the sample that fell most, from its first reading to its last
    spans = rows.group_by("label", maintain_order=True).agg(
        pl.col("value").first().alias("first"),
        pl.col("value").last().alias("last"),
        pl.col("t").last() - pl.col("t").first(),
        (pl.col("t").filter((pl.col("value") - pl.col("value").last()).abs() <= pl.col("value").last() / 100).first() - pl.col("t").first()).alias("by"),
        pl.len(),
    )
    worst = spans.sort(pl.col("first") - pl.col("last"), descending=True).row(0, named=True)
    wait = float(largest(spans["by"]))
    numbers: dict[str, Number] = {
        "is_forecast": "no",
        "first_bytes": worst["first"],
        "settled_bytes": worst["last"],
        "give_back_bytes": worst["first"] - worst["last"],
        "settles_within_s": wait,
    }
    words = (
        f"The first reading ({binary(worst['first'])}) had not settled: {binary(worst['first'] - worst['last'])} were already given back, and {worst['t']:g} s "
        f"later {binary(worst['last'])} were read. Do not judge before {wait:g} s."
    )
    return _finding("not_settled", words, numbers, "medium", Evidence("observed", tuple(spans.to_dicts())), "readings that change again after that time")


def _cleared(facts: Facts) -> Finding | None:
    """Return the answer of a table of gauges before and after a clear."""
    read: dict[str, dict[str, int]] = {}
    for gauge, label, value in facts.observed.drop_nulls("value").select("gauge", "label", "value").iter_rows():
        if label in ("before", "after"):
            read.setdefault(gauge, {})[label] = value
    change = {gauge: pair["after"] - pair["before"] for gauge, pair in read.items() if len(pair) == len(("before", "after"))}
    pool = next((change[name] for name in ("mlx_pool", "pool") if name in change), None)
    process = next((change[name] for name in ("footprint", "phys_footprint", "rss") if name in change), None)
    if pool is None and process is None:
        return None
    kept = process is not None and (pool or 0) > 0 and abs(process) < (pool or 0) / 2
    changes = ", ".join(f"{gauge} {'+' if value >= 0 else '-'}{binary(abs(value))}" for gauge, value in change.items())
    meaning = (
        "What was cleared went into the allocator's pool, which the process keeps: nothing came back to the system."
        if kept
        else "When these were read was not recorded: a footprint trails by up to 5 s."
    )
    numbers: dict[str, Number] = {"is_forecast": "no"}
    numbers |= {f"{gauge}_change_bytes": value for gauge, value in change.items()}
    words = f"Before and after: {changes}. {meaning} Ending the process gives the pool back; so does clearing the allocator's cache."
    evidence = Evidence("observed", tuple({"gauge": gauge} | pair for gauge, pair in read.items()))
    fall = "a footprint that falls within 5 s of the clear while nothing else allocates"
    return _finding("still_loaded" if kept else "not_settled", words, numbers, "medium" if kept else "low", evidence, fall)


def _stopped(facts: Facts) -> Finding | None:
    """Return the answer where a log ends with its runners stopped."""
    if facts.stopped is None:
        return None
    at, pids = facts.stopped
    count = _held(facts)
    whose = f" (process {', '.join(map(str, pids))})" if pids else ""
    before = f" It held {binary(count)} when last read." if count is not None else ""
    numbers: dict[str, Number] = {"is_forecast": "no", "stopped_at_s": round(at, 1), "old_pids": list(pids), "held_before_bytes": count}
    words = f"The runner{whose} was stopped after {at:.0f} s, and nothing is recorded after it.{before} Whether the process is gone and its bytes are back, "
    evidence = Evidence("events", ({"t": at, "pids": list(pids), "held": count},))
    return _finding("not_settled", f"{words}only a sample shows: kvlab probe --watch 15.", numbers, "low", evidence)


def _forecast(facts: Facts) -> Finding:
    held, back = facts.parts, _held(facts)
    if back is None:
        return unanswered(QUESTION, "model_bytes", facts)
    inside = [name for name in FORECAST if name in held.bytes]
    numbers: dict[str, Number] = {"is_forecast": "yes", **{f"{name}_bytes": held.bytes[name] for name in inside}, "give_back_bytes": back}
    footprint = held.get("footprint")
    if footprint is not None:
        numbers |= {"footprint_bytes": footprint, "heap_goes_with_the_process_bytes": max(0, footprint - back)}
    parts = ", ".join(f"{name.replace('_', ' ')} {binary(held.bytes[name])}" for name in inside)
    clear = f" Clearing the cache alone would give its {binary(held.bytes['snapshots'])} of snapshots to the pool first." if "snapshots" in held.bytes else ""
    words = (
        f"Forecast: ending the process gives back {binary(back)}{f' ({parts})' if parts else ''}; the server's own process stays."
        f"{_kv_words(facts, back)}{clear}{_stopping(facts)} Do not judge before two equal readings or 5 s, and check that the old process is gone: "
        "kvlab probe --workload E2."
    )
    evidence = Evidence("bytes", (dict(held.bytes),))
    return _finding("all_but_process_base", words, numbers, "medium" if "weights" in held.bytes else "low", evidence)


def _kv_words(facts: Facts, back: int) -> str:
    """Return what of it the context makes, where the shape or the buffers reserved for it say so."""
    shape, context, reserved = facts.shape.value, facts.context, facts.last.get("kv_cache")
    live = facts.parts.get("live") if reserved is not None else shape.bytes_per_token * context if shape is not None and context and not facts.inside else None
    if not live or live > back:
        return f" It was loaded for a context of {context:,} tokens, which is part of that size (--shape says how much)." if context and shape is None else ""
    at = f" of {context:,} tokens" if context else ""
    return f" {binary(live)} of it ({live / back:.0%}".replace("%", " %") + f") are keys and values for a context{at}: half the context takes half of that."


def _stopping(facts: Facts) -> str:
    """Return what a list says of a stop that waits."""
    listed = facts.of_kind("listed").filter(pl.col("count") > 0)
    if not listed.height or not str(listed.item(-1, "label") or "").startswith("Stopping"):
        return ""
    return " It is listed as stopping: a stop waits for the reply that runs. Nothing is lost; a limit on new tokens or a client's timeout ends it."


def _held(facts: Facts) -> int | None:
    """Return what the process gives back: its owners together where they were read, else what is listed, else its footprint."""
    held = facts.parts
    inside = [held.bytes[name] for name in FORECAST if name in held.bytes]
    return sum(inside) if "weights" in held.bytes else held.held or held.get("container") or held.get("gpu_used") or held.get("rss")


_ANSWERS: tuple[Callable[[Facts], Finding | None], ...] = (_watched, _unlisted, _living_runner, _restarted, _settling, _cleared, _stopped)
"""What may answer, the surest first."""

_WATCHED = {
    "all_but_process_base": "The model left the list, and the process that held it is gone or is the server's own.",
    "process_left_behind": "The model left the list, and the process that held it lives: it is not released.",
    "still_loaded": "The server did not unload: it refused, or it accepted and lists the model still.",
    "not_settled": "Nothing proves that the process is gone: it cannot be seen, or the server did not send its list.",
}

_REFUTED_BY = {
    "all_but_process_base": "the old process alive, or its bytes not back, 5 s after the model left the list",
    "not_settled": "a later sample of the same processes",
    "still_loaded": "a later sample in which the model is not listed",
    "process_left_behind": "a later sample in which the old process is gone",
}
