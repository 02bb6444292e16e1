"""Question 4: what will unload, clear or stop give back, and when is a reading settled?

In this order: unloads in a run of our own; an unload that a client sent and watched; a model that left a list; a runner that lives though none is
listed; figures on both sides of a restart or a clear; a log that ends with its runner stopped. Without any it is a forecast: ending the process
gives back weights, live buffers, snapshots and pool together, and leaves the process's base. Clearing the cache alone gives snapshots to the pool
first, which the process keeps.

- `all_but_process_base`: no longer listed, and the process that held the model is gone (or the server holds it itself), or a forecast.
- `process_left_behind`: no longer listed, and the old process lives, or answered the next request.
- `still_loaded`: accepted, and still listed; or refused.
- `not_settled`: neither proved nor disproved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from kvlab.events import BytesRead
from kvlab.findings.finding import Confidence, Evidence, Finding, Number
from kvlab.findings.question import Question
from kvlab.probe.changes import MUCH, SETTLE_S
from kvlab.probe.rows import request_rows
from kvlab.recording.extremes import largest
from kvlab.recording.facts import Facts
from kvlab.recording.facts.samples import Sample
from kvlab.units import MIB, binary

Q = Question("what_will_unload_give_back")


@dataclass(frozen=True, slots=True)
class UnloadSeen:
    """One unload and what followed.

    Attributes:
        left: The models that left the list.
        listed_again: Those of them that are listed at the end; None when the list was not read then.
        before: The last sample with the model listed.
        after: The last sample before another load.
        waited_s: Seconds from the unload to it.
        settled: `two equal readings`, `time` or `no`.
        old_pids: The processes that held models before.
        alive_pids: Those of them that live at the end.
    """

    left: frozenset[str]
    listed_again: frozenset[str] | None
    before: Sample
    after: Sample
    waited_s: float
    settled: str
    old_pids: tuple[int, ...]
    alive_pids: tuple[int, ...]

    @property
    def left_behind(self) -> bool:
        """Whether a process that held the model lives; of several models' processes those of the others live on."""
        return bool(self.alive_pids) and not (len(self.before.models or ()) > 1 and len(self.alive_pids) < len(self.old_pids))


def unload_seen(samples: Sequence[Sample], *, timed: bool = True) -> UnloadSeen | None:
    """Return the last unload of some samples; None when no model left the list.

    Args:
        samples: In order.
        timed: Their seconds are those at which they were taken; outputs pasted one after another have none, and what a person pasted had settled.
    """
    # the moment is not known closer than the two samples around it
    places = [place for place in range(1, len(samples)) if (was := samples[place - 1].models) and (now := samples[place].models) is not None and was - now]
    if not places:
        return None
    before, after = samples[places[-1] - 1], _until_loaded(samples[places[-1] :])
    end, since = after[-1], after[0].t
    left = (before.models or frozenset()) - (after[0].models or frozenset())
    # what was pasted without its processes was not searched for them
    with_processes = next((one for one in reversed(after) if one.pids), end)
    alive = before.pids & with_processes.pids if not timed else before.pids & end.pids
    if not timed and not before.pids:
        earlier = next((one.pids for one in reversed(samples[: places[-1]]) if one.pids), frozenset[int]())
        # a process that was started with a model holds it, also when it was first seen after the unload
        earlier = earlier or (with_processes.pids if with_processes.named else frozenset[int]())
        before_pids, alive = earlier, earlier & with_processes.pids
    else:
        before_pids = before.pids
    return UnloadSeen(
        left=left,
        listed_again=None if end.models is None else left & end.models,
        before=before,
        after=end,
        waited_s=end.t - since,
        settled=_settled(after, since) if timed else "time",
        old_pids=tuple(sorted(before_pids)),
        alive_pids=tuple(sorted(alive)),
    )


def _until_loaded(after: Sequence[Sample]) -> list[Sample]:
    """Return the samples up to the one in which a new process is there: what follows is of the next load."""
    first = after[0].pids
    kept = [after[0]]
    for sample in after[1:]:
        if sample.pids - first and sample.models:
            break
        kept.append(sample)
    return kept


def _settled(after: list[Sample], since: float) -> str:
    if len(after) > 1 and after[-1].equals(after[-2], MIB):
        return "two equal readings"
    return "time" if after[-1].t - since >= SETTLE_S and len(after) > 1 else "no"


FORECAST = ("weights", "live", "snapshots", "pool", "compute_buffer")
"""What ending the process gives back, part by part."""

IN_A_RUN = ("weights", "live", "snapshots", "pool")
"""What a run's unload frees, part by part."""

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


def _in_a_run(facts: Facts) -> Finding | None:
    """Return the answer of a run whose workload unloads: the allocator was read around every unload and after every load."""
    read = facts.recording.rows(BytesRead, columns=("seq", "phase", "source", "active", "footprint", *IN_A_RUN))
    if not (read["phase"] == "unload").any():
        return None
    rows = read.filter(pl.col("source") == read["source"].first()).with_columns(held=pl.col("active") + pl.col("pool")).to_dicts()
    last = max(place for place, row in enumerate(rows) if row["phase"] == "unload")
    before, after = rows[last - 1], rows[last]
    loads = [row["held"] for row in rows if row["phase"] == "load"]
    numbers: dict[str, Number] = {
        "is_forecast": "no",
        "unloads": sum(row["phase"] == "unload" for row in rows),
        **{f"{name}_bytes": before[name] for name in IN_A_RUN},
        "held_before_bytes": before["held"],
        "held_after_bytes": after["held"],
        "give_back_bytes": before["held"] - after["held"],
        "first_load_bytes": loads[0],
        "last_load_bytes": loads[-1] if len(loads) > 1 else None,
        "footprint_before_bytes": before["footprint"],
        "footprint_after_bytes": after["footprint"],
    }
    verdict = "all_but_process_base" if after["held"] <= (1 - FELL) * before["held"] else "not_settled"
    return Q.found(verdict, Q.say("in_a_run", numbers), numbers, "high", Evidence("bytes", (before, after)), refuted_by="in_a_run")


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
    words = Q.say(f"watched_{verdict}") + Q.say("proved", numbers, held=Q.say("held_before", numbers))
    sure: Confidence = "high" if facts.recording.complete and verdict != "not_settled" else "medium"
    return Q.found(verdict, words, numbers, sure, Evidence("events", tuple(rows)))


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


def _unlisted(facts: Facts) -> Finding | None:
    """Return the answer where a model left the list."""
    timed = facts.source == "probe" or len({one.t for one in facts.samples}) > 1
    seen = unload_seen(facts.samples, timed=timed)
    if seen is None:
        return None
    verdict, why = _judged(seen)
    before, after = seen.before, seen.after
    held = None if before.held is None else before.held - (after.held or 0)
    numbers: dict[str, Number] = {
        "is_forecast": "no",
        "waited_s": round(seen.waited_s, 1),
        "settled_by": seen.settled,
        "listed_before_bytes": before.size,
        "listed_given_back_bytes": None if before.size is None else before.size - (after.size or 0),
        "process_held_before_bytes": before.held,
        "process_given_back_bytes": held,
        "old_pids": list(seen.old_pids),
        "alive_pids": list(seen.alive_pids),
    }
    settled = Q.say(f"settled_by_{_SETTLED[seen.settled]}", waited=seen.waited_s) if timed else Q.say("times_unknown")
    words = Q.say(
        "unlisted",
        why=why,
        settled=settled,
        freed="" if held is None else Q.say("freed" if held >= 0 else "grew", freed_bytes=held, grew_bytes=-held),
        base=Q.say("base_stays") if verdict == "all_but_process_base" and seen.old_pids else "",
        next_step=Q.say("sample_longer") if verdict == "not_settled" else "",
    )
    sure: Confidence = "low" if not seen.old_pids or verdict == "not_settled" else "high" if timed else "medium"
    return Q.found(verdict, words, numbers, sure, Evidence("samples", (_row(before), _row(after))))


_SETTLED = {"two equal readings": "readings", "time": "time", "no": "none"}


def _row(one: Sample) -> Row:
    return {"t": one.t, "listed": sorted(one.models or ()), "pids": sorted(one.pids), "size": one.size, "footprint": one.held}


def _judged(seen: UnloadSeen) -> tuple[str, str]:
    """Return the verdict on an unload that samples show, and why."""
    if seen.listed_again is None:
        return "not_settled", Q.say("list_unknown")
    if seen.listed_again:
        return "still_loaded", Q.say("listed_again", models=", ".join(sorted(seen.listed_again)))
    if seen.settled == "no":
        return "not_settled", Q.say("too_early", settle=SETTLE_S)
    if seen.left_behind:
        return "process_left_behind", Q.say("left_behind", pids=_listed(seen.alive_pids))
    gone = _listed(pid for pid in seen.old_pids if pid not in seen.alive_pids)
    return "all_but_process_base", Q.say("gone" if gone else "only_list", pids=gone)


def _listed(pids: Iterable[int]) -> str:
    return ", ".join(map(str, pids))


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
    numbers: dict[str, Number] = {"is_forecast": "no", "alive_pids": sorted(pids), "process_held_bytes": last.held, "watched_s": round(last.t - since, 1)}
    what = Q.say("living_long", watched=last.t - since) if last.t > since else "What"
    judged = Q.say("living_stays" if stays else "living_unsure", what=what)
    words = Q.say("living", pids=_listed(sorted(pids)), process_held_bytes=last.held or None, judged=judged)
    sure: Confidence = "medium" if stays and last.t > since else "low"
    return Q.found("process_left_behind" if stays else "not_settled", words, numbers, sure, Evidence("samples", (_row(last),)), refuted_by="living")


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
        words = Q.say("across", numbers | {"gauge": gauge.capitalize()}, came=Q.say("came_back" if fell else "came_not", numbers))
        return Q.found("all_but_process_base" if fell else "not_settled", words, numbers, "medium" if fell else "low", evidence)
    numbers = {"is_forecast": "no", "held_before_bytes": facts.parts.held}
    words = Q.say("nothing_after", numbers, accepted=Q.say("accepted") if moments["state"].is_in(["unload_accepted"]).any() else "")
    return Q.found("not_settled", words, numbers, "low", Evidence("events", (moments.select("state", "message").row(-1, named=True),)))


def _still_listed(facts: Facts, listed: pl.DataFrame, sent: float) -> Finding:
    """Return the answer where a model is listed after an unload was sent."""
    waited = facts.recording.last_t - sent
    numbers: dict[str, Number] = {"is_forecast": "no", "waited_s": round(waited, 1), "held_before_bytes": facts.parts.held}
    words = Q.say("still_listed", numbers, model=listed.item(-1, "model"), late=waited if waited > 0 else None, stopping=_stopping(facts))
    return Q.found("still_loaded", words, numbers, "medium", Evidence("events", tuple(listed.select("t", "model", "label").tail(2).to_dicts())))


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
    words = Q.say("settling", numbers, t=worst["t"])
    return Q.found("not_settled", words, numbers, "medium", Evidence("observed", tuple(spans.to_dicts())), refuted_by="settling")


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
    numbers: dict[str, Number] = {"is_forecast": "no"}
    numbers |= {f"{gauge}_change_bytes": value for gauge, value in change.items()}
    words = Q.say("cleared", changes=changes, meaning=Q.say("into_pool" if kept else "when_unknown"))
    evidence = Evidence("observed", tuple({"gauge": gauge} | pair for gauge, pair in read.items()))
    return Q.found("still_loaded" if kept else "not_settled", words, numbers, "medium" if kept else "low", evidence, refuted_by="cleared")


def _stopped(facts: Facts) -> Finding | None:
    """Return the answer where a log ends with its runners stopped."""
    if facts.stopped is None:
        return None
    at, pids = facts.stopped
    numbers: dict[str, Number] = {"is_forecast": "no", "stopped_at_s": round(at, 1), "old_pids": list(pids), "held_before_bytes": _held(facts)}
    words = Q.say("stopped", numbers, at=at, pids=_listed(pids) or None)
    return Q.found("not_settled", words, numbers, "low", Evidence("events", ({"t": at, "pids": list(pids), "held": _held(facts)},)))


def _forecast(facts: Facts) -> Finding:
    held, back = facts.parts, _held(facts)
    if back is None:
        return Q.open("model_bytes", facts)
    inside = [name for name in FORECAST if name in held.bytes]
    numbers: dict[str, Number] = {"is_forecast": "yes", **{f"{name}_bytes": held.bytes[name] for name in inside}, "give_back_bytes": back}
    footprint = held.get("footprint")
    if footprint is not None:
        numbers |= {"footprint_bytes": footprint, "heap_goes_with_the_process_bytes": max(0, footprint - back)}
    parts = ", ".join(f"{name.replace('_', ' ')} {binary(held.bytes[name])}" for name in inside)
    words = Q.say("forecast", numbers, parts=parts or None, kv=_kv_words(facts, back), stopping=_stopping(facts))
    sure: Confidence = "medium" if "weights" in held.bytes else "low"
    return Q.found("all_but_process_base", words, numbers, sure, Evidence("bytes", (dict(held.bytes),)))


def _kv_words(facts: Facts, back: int) -> str:
    """Return what of it the context makes, where the shape or the buffers reserved for it say so."""
    shape, context, reserved = facts.shape.value, facts.context, facts.last.get("kv_cache")
    live = facts.parts.get("live") if reserved is not None else shape.bytes_per_token * context if shape is not None and context and not facts.inside else None
    if not live or live > back:
        return Q.say("context_part", context=context) if context and shape is None else ""
    return Q.say("kv", kv_bytes=live, share=f"{live / back:.0%}".replace("%", " %"), context=context or None)


def _stopping(facts: Facts) -> str:
    """Return what a list says of a stop that waits."""
    listed = facts.of_kind("listed").filter(pl.col("count") > 0)
    return Q.say("stopping") if listed.height and str(listed.item(-1, "label") or "").startswith("Stopping") else ""


def _held(facts: Facts) -> int | None:
    """Return what the process gives back: its owners together where they were read, else what is listed, else its footprint."""
    held = facts.parts
    inside = [held.bytes[name] for name in FORECAST if name in held.bytes]
    return sum(inside) if "weights" in held.bytes else held.held or held.get("container") or held.get("gpu_used") or held.get("rss")


_ANSWERS: tuple[Callable[[Facts], Finding | None], ...] = (_in_a_run, _watched, _unlisted, _living_runner, _restarted, _settling, _cleared, _stopped)
"""What may answer, the surest first."""
