"""Question 4: what will unload, clear or stop give back, and when is a reading settled?

Without an unload in the recording, or a log that tells that the runner was stopped, it is a forecast: ending the process gives back weights,
live buffers, snapshots and pool together, and leaves the process's base. Clearing the cache alone gives snapshots to the pool first, which the
process keeps. With one, what followed decides (unload_seen.py).
"""

from __future__ import annotations

from kvlab.diagnose.finding import Confidence, Evidence, Finding, Number, not_enough_data
from kvlab.diagnose.outside.unload_proved import unload_proved
from kvlab.diagnose.parts import Parts, parts
from kvlab.diagnose.runner_stopped import RunnerStopped, runner_stopped
from kvlab.diagnose.unlisted_runner import unlisted_runner
from kvlab.diagnose.unload_seen import UnloadSeen, unload_seen
from kvlab.recording import Recording
from kvlab.units import binary

QUESTION = "what_will_unload_give_back"

FORECAST = ("weights", "live", "snapshots", "pool")
"""What ending the process gives back, part by part."""


def what_will_unload_give_back(recording: Recording) -> Finding:
    """Answer what an unload gives back, from what followed one, else as a forecast."""
    proved = unload_proved(recording)
    if proved is not None:
        return proved
    seen = unload_seen(recording)
    if seen is not None:
        return _seen(seen)
    unlisted = unlisted_runner(recording, QUESTION)
    if unlisted is not None:
        return unlisted
    stopped = runner_stopped(recording)
    return _cleared(recording) or (_forecast(parts(recording)) if stopped is None else _stopped(stopped, parts(recording)))


def _seen(seen: UnloadSeen) -> Finding:
    before, after = seen.before, seen.after
    listed, held = _less(before.size, after.size), _less(before.held, after.held)
    numbers: dict[str, Number] = {
        "is_forecast": "no",
        "waited_s": round(seen.waited_s, 1),
        "settled_by": seen.settled,
        "listed_before_bytes": before.size,
        "listed_given_back_bytes": listed,
        "process_held_before_bytes": before.held,
        "process_given_back_bytes": held,
        "old_pids": list(seen.old_pids),
        "alive_pids": list(seen.alive_pids),
    }
    known = bool(seen.old_pids)
    confidence: Confidence = "high" if known and seen.verdict != "not_settled" else "low"
    after_words = {"two equal readings": "two readings were equal", "time": f"{seen.waited_s:.0f} s have passed", "no": "readings had not settled"}[
        seen.settled
    ]
    next_step = " Look on: kvlab probe --watch 15." if seen.verdict == "not_settled" else ""
    base = "" if seen.verdict != "all_but_process_base" or not known else " What the server's own process holds stays."
    rows = tuple(
        {"t": look.t, "listed": sorted(look.models or ()), "pids": sorted(look.pids), "size": look.size, "footprint": look.held} for look in (before, after)
    )
    return Finding(
        question=QUESTION,
        verdict=seen.verdict,
        summary=f"After the unload: {seen.why}; {after_words}.{_freed(numbers)}{base}{next_step}",
        numbers=numbers,
        confidence=confidence,
        evidence=(Evidence("looks", rows),),
        refuted_by=_REFUTED_BY[seen.verdict],
    )


def _less(before: int | None, after: int | None) -> int | None:
    return None if before is None else before - (after or 0)


def _freed(numbers: dict[str, Number]) -> str:
    freed = numbers["process_given_back_bytes"]
    if not isinstance(freed, int):
        return ""
    if freed < 0:
        return f" The processes hold {binary(-freed)} more than before: others allocated meanwhile, so this difference is not what the unload freed."
    return f" {binary(freed)} of the processes' footprint went with it."


def _cleared(recording: Recording) -> Finding | None:
    """Return the finding on a table of gauges before and after a clear; None when there is none."""
    rows = recording.observed.drop_nulls("value").select("gauge", "label", "value").iter_rows()
    told: dict[str, dict[str, int]] = {}
    for gauge, label, value in rows:
        if label in ("before", "after"):
            told.setdefault(gauge, {})[label] = value
    change = {gauge: pair["after"] - pair["before"] for gauge, pair in told.items() if len(pair) == len(("before", "after"))}
    pool = next((change[name] for name in ("mlx_pool", "pool") if name in change), None)
    process = next((change[name] for name in ("footprint", "phys_footprint", "rss") if name in change), None)
    if pool is None and process is None:
        return None
    kept = process is not None and (pool or 0) > 0 and abs(process) < (pool or 0) / 2
    words = ", ".join(f"{gauge} {'+' if value >= 0 else '-'}{binary(abs(value))}" for gauge, value in change.items())
    meaning = (
        " What was cleared went into the allocator's pool, which the process keeps: nothing came back to the system."
        if kept
        else " When these were read is not told: a footprint trails by up to 5 s."
    )
    numbers: dict[str, Number] = {"is_forecast": "no"}
    numbers |= {f"{gauge}_change_bytes": value for gauge, value in change.items()}
    return Finding(
        question=QUESTION,
        verdict="still_loaded" if kept else "not_settled",
        summary=f"Before and after: {words}.{meaning} Ending the process gives the pool back; so does clearing the allocator's cache.",
        numbers=numbers,
        confidence="medium" if kept else "low",
        evidence=(Evidence("observed", tuple({"gauge": gauge} | pair for gauge, pair in told.items())),),
        refuted_by="a footprint that falls within 5 s of the clear while nothing else allocates",
    )


def _forecast(held: Parts) -> Finding:
    numbers: dict[str, Number] = {"is_forecast": "yes"}
    numbers |= {f"{name}_bytes": held.bytes[name] for name in FORECAST if name in held.bytes}
    inside = [name for name in FORECAST if name in held.bytes]
    back = _held_in_all(held)
    if back is None:
        return not_enough_data(QUESTION, "Nothing tells what the model takes.", "Record /api/ps or the process's footprint: kvlab probe.")
    numbers["give_back_bytes"] = back
    footprint = held.get("footprint")
    if footprint is not None:
        numbers |= {"footprint_bytes": footprint, "heap_goes_with_the_process_bytes": max(0, footprint - back)}
    told = ", ".join(f"{name} {binary(held.bytes[name])}" for name in inside)
    clear = f" Clearing the cache alone would give its {binary(held.bytes['snapshots'])} of snapshots to the pool first." if "snapshots" in held.bytes else ""
    return Finding(
        question=QUESTION,
        verdict="all_but_process_base",
        summary=f"Forecast: ending the process gives back {binary(back)}{f' ({told})' if told else ''}; the server's own process stays.{clear} "
        "Do not judge before two equal readings or 5 s, and check that the old process is gone: kvlab probe --workload E2.",
        numbers=numbers,
        confidence="medium" if "weights" in held.bytes else "low",
        evidence=(Evidence("bytes", ({name: held.bytes[name] for name in held.bytes},)),),
        refuted_by=_REFUTED_BY["all_but_process_base"],
    )


def _held_in_all(held: Parts) -> int | None:
    inside = [held.bytes[name] for name in FORECAST if name in held.bytes]
    return sum(inside) if "weights" in held.bytes else held.get("size") or _active(held) or held.get("footprint")


def _stopped(stopped: RunnerStopped, held: Parts) -> Finding:
    count = _held_in_all(held)
    whose = f" (process {', '.join(map(str, stopped.pids))})" if stopped.pids else ""
    before = f" It held {binary(count)} when last read." if count is not None else ""
    numbers: dict[str, Number] = {"is_forecast": "no", "stopped_at_s": round(stopped.t, 1), "old_pids": list(stopped.pids), "held_before_bytes": count}
    return Finding(
        question=QUESTION,
        verdict="not_settled",
        summary=f"The runner{whose} was stopped after {stopped.t:.0f} s, and nothing is told after it.{before} Whether the process is gone and its bytes are "
        "back, only a look shows: kvlab probe --watch 15.",
        numbers=numbers,
        confidence="low",
        evidence=(Evidence("events", ({"t": stopped.t, "pids": list(stopped.pids), "held": count},)),),
        refuted_by=_REFUTED_BY["not_settled"],
    )


def _active(held: Parts) -> int | None:
    active = held.get("active")
    return None if active is None else active + (held.get("pool") or 0)


_REFUTED_BY = {
    "all_but_process_base": "the old process alive, or its bytes not back, 5 s after the model left the list",
    "not_settled": "a later look at the same processes",
    "still_loaded": "a later look in which the model is not listed",
    "process_left_behind": "a later look in which the old process is gone",
}
