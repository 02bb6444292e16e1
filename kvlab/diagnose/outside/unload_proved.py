"""What an unload gave back, of a recording in which a probe unloaded: by the list, the old process and the next load.

An unload is one that was asked of the server (a call, `ollama stop`), or a restart of the server that happened; one that did not is a trouble of the run.

- `all_but_process_base`: every unload is proved: no longer listed, the process that held the model gone (or the server holds it itself).
- `process_left_behind`: no longer listed, and the old process lives, or answered the next request.
- `still_loaded`: accepted, and still listed; or refused.
- `not_settled`: neither proved nor disproved, as when the processes cannot be seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from kvlab.diagnose.finding import Evidence, Finding, Number
from kvlab.events import LifeSign
from kvlab.probe.rows import request_rows, sign_rows
from kvlab.recording import Recording
from kvlab.recording.extremes import largest
from kvlab.units import binary

QUESTION = "what_will_unload_give_back"

Row = dict[str, Any]


def unload_proved(recording: Recording) -> Finding | None:
    """Return the answer of the signs that a probe saw; None when it did not unload."""
    if not recording.events.filter((pl.col("kind") == LifeSign.kind) & pl.col("state").is_in(["unload_asked", "restart_asked"])).height:
        return None
    signs = sign_rows(recording)
    not_done = signs.filter(pl.col("state") == "not_restarted")["request"].to_list()
    asked = signs.filter(pl.col("state").is_in(["unload_asked", "restart_asked"]) & ~pl.col("request").is_in(not_done))["request"].to_list()
    if not asked:
        return None
    states = {request: signs.filter(pl.col("request") == request)["state"].to_list() for request in asked}
    again = signs.filter(pl.col("state") == "loaded_again")
    answered_by_old = signs.filter((pl.col("state") == "left_behind") & ~pl.col("request").is_in(asked))
    verdict = _verdict(list(states.values()), answered_by_old.height)
    rows = {row["request"]: row for row in request_rows(recording).iter_rows(named=True)}
    waited = signs.filter(pl.col("state") == "unload_verified")["seconds"]
    restarts = signs.filter(pl.col("state") == "restart_asked").height - len(not_done)
    numbers: dict[str, Number] = {
        "unloads": len(asked),
        "of_them_restarts": restarts,
        "verified": sum("unload_verified" in told for told in states.values()),
        "left_behind": sum("left_behind" in told for told in states.values()) + answered_by_old.height,
        "refused": sum("unload_refused" in told for told in states.values()),
        "loaded_again": again.height,
        "longest_release_s": None if waited.is_empty() else largest(waited),
        "longest_load_s": None if again.is_empty() else largest(again["seconds"]),
        **_bytes(rows, asked[-1]),
    }
    evidence = signs.filter(pl.col("request").is_in(asked) | pl.col("state").is_in(["loaded_again", "left_behind"])).to_dicts()
    return Finding(
        question=QUESTION,
        verdict=verdict,
        summary=_SUMMARIES[verdict] + _words(numbers),
        numbers=numbers,
        confidence="high" if recording.complete and verdict != "not_settled" else "medium",
        evidence=(Evidence("events", tuple(evidence)),),
        refuted_by=_REFUTED_BY[verdict],
    )


def _verdict(states: Sequence[Sequence[str]], answered_by_old: int) -> str:
    if any("unload_refused" in told or ("unload_accepted" in told and "unlisted" not in told and "not_settled" in told) for told in states):
        return "still_loaded"
    if answered_by_old or any("left_behind" in told for told in states):
        return "process_left_behind"
    return "all_but_process_base" if all("unload_verified" in told for told in states) else "not_settled"


def _bytes(rows: dict[int, Row], unload: int) -> dict[str, Number]:
    """Return what the last unload changed: the look before it and the one after it."""
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


def _words(numbers: dict[str, Number]) -> str:
    size, footprint, left = numbers["size_before_bytes"], numbers["footprint_before_bytes"], numbers["footprint_after_bytes"]
    words = f" {numbers['verified']} of {numbers['unloads']} unloads are proved."
    if isinstance(size, int):
        words += f" Before the last one the server listed {binary(size)}"
        words += f" and its process held {binary(footprint)}; after it {binary(left)}." if isinstance(footprint, int) and isinstance(left, int) else "."
    return words


_SUMMARIES = {
    "all_but_process_base": "The model left the list, and the process that held it is gone or is the server's own.",
    "process_left_behind": "The model left the list, and the process that held it lives: it is not released.",
    "still_loaded": "The server did not unload: it refused, or it accepted and lists the model still.",
    "not_settled": "Nothing proves that the process is gone: it cannot be seen, or the server did not tell its list.",
}

_REFUTED_BY = {
    "all_but_process_base": "the old process among the living, or the next request answered without a new load",
    "process_left_behind": "the old process gone at a later look",
    "still_loaded": "a later look at a list without the model",
    "not_settled": "a look at the processes of the machine that the server runs on",
}
