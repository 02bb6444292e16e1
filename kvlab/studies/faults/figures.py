"""Figures of one arm, read from its recording's tables alone: what was restored, what is wrong, which bytes are held."""

from __future__ import annotations

from typing import Any

import polars as pl

from kvlab.events import NodeMerged, PagedOut, Scheduled, Violation, Warned, WrongPositions
from kvlab.recording import Recording
from kvlab.recording.readings import observed
from kvlab.shape import KV_KINDS, Shape
from kvlab.studies.faults.models import CONV_TAIL


def reuse(recording: Recording, request: int) -> dict[str, Any]:
    """Read a request's matched and cached tokens and all warnings up to it."""
    row = recording.requests.row(request - 1, named=True)
    warnings = recording.rows(Warned).filter(pl.col("request") <= request)["message"].to_list()
    return {
        "of_request": request,
        "matched_tokens": row["matched"],
        "cached_tokens": row["cached"],
        "evaluated_again_tokens": row["matched"] - row["cached"],
        "warnings": warnings,
    }


def wrong(recording: Recording) -> dict[str, Any]:
    """Read the restored positions that hold what another request wrote, and the requests that got them."""
    rows = recording.rows(WrongPositions)
    positions = [
        {"request": request, "layer": layer, "positions": [start, end], "belongs_to_request": owner}
        for request, layer, start, end, owner in rows.select("request", "layer", "start", "end", "belongs_to").iter_rows()
    ]
    return {"wrong_positions": positions, "requests_with_wrong_positions": rows["request"].n_unique()}


def off_edge(recording: Recording) -> dict[str, Any]:
    """Read the KV snapshots that do not cover their node's edge at the end of the run."""
    end = recording.at(recording.last)
    edges = {node: (start, stop) for node, start, stop in end.nodes.select("node", "start", "end").iter_rows()}
    spans = end.spans.filter(pl.col("layer").is_in(KV_KINDS) & pl.col("node").is_not_null())
    found = [
        {"node": list(edges[node]), "snapshot": [start, stop]}
        for node, start, stop in spans.select("node", "start", "end").iter_rows()
        if edges.get(node, (start, stop)) != (start, stop)
    ]
    return {"snapshots_off_their_edge": found}


def counted(recording: Recording) -> dict[str, Any]:
    """Read what the snapshots counted after each request, and the nodes."""
    rows = recording.requests
    return {"counted_bytes": rows["paged_out"].to_list(), "nodes": rows["nodes"].to_list()}


def over_budget(recording: Recording) -> dict[str, Any]:
    """Read the most that snapshots and live buffers held together at a request's end, and the budget."""
    rows = recording.requests
    held = (rows["snapshots"] + rows["live"]).to_list()
    return {"budget_bytes": rows["budget"][-1], "snapshots_and_live_bytes": max(held)}


def highest_counted(recording: Recording) -> dict[str, Any]:
    """Read the most counted at any reading, and what is counted after the last request."""
    reads = recording.bytes.filter((pl.col("kind") == "counted") & (pl.col("owner") == "snapshots") & (pl.col("source") != "twin"))
    return {"highest_counted_bytes": reads["value"].max(), "counted_at_the_end_bytes": reads["value"][-1]}


def live(recording: Recording) -> dict[str, Any]:
    """Read what the live buffers keep alive and hold at the end of the last request."""
    last = recording.bytes.filter((pl.col("phase") == "close") & (pl.col("owner") == "live") & (pl.col("source") != "twin"))
    value = {kind: last.filter(pl.col("kind") == kind)["value"][-1] for kind in ("retained", "logical")}
    return {"live_capacity_bytes": value["retained"], "live_filled_bytes": value["logical"]}


def pinned(recording: Recording) -> dict[str, Any]:
    """Read what the captured recurrent states keep alive, and what they count for."""
    spans = recording.spans.filter((pl.col("layer") == "recurrent") & pl.col("died").is_null())
    kept, logical = int(spans["retained"].sum()), int(spans["counted"].sum())
    return {"kept_alive_bytes": kept, "counted_bytes": logical, "kept_alive_over_counted": kept / logical if logical else None}


def transients(recording: Recording, request: int) -> dict[str, Any]:
    """Read a request's peak, and the consumed merge inputs that waited for a sweep in it."""
    waited = observed(recording.tables).filter(pl.col("request") == request)["transient"].max()
    return {"of_request": request, "peak_bytes": recording.requests.item(request - 1, "peak"), "merge_inputs_waiting_bytes": waited}


def tail(recording: Recording, request: int) -> dict[str, Any]:
    """Read how many nodes were paged out in a request."""
    out = recording.rows(PagedOut).filter(pl.col("request") == request)
    return {f"nodes_paged_out_in_request_{request}": out.height}


def freed_all(recording: Recording) -> dict[str, Any]:
    """Read how many bytes moved from the live buffers to the snapshots where all layers were freed."""
    warned = recording.rows(Warned)
    if warned.is_empty():
        return {"times_all_layers_were_freed": 0}
    request = warned.item(0, "request")
    read = observed(recording.tables)
    before = read.filter((pl.col("request") == request - 1) & (pl.col("phase") == "close"))
    after = read.filter((pl.col("request") == request) & (pl.col("phase") == "begin"))
    found: dict[str, Any] = {"times_all_layers_were_freed": warned.height}
    for name in ("live", "snapshots"):
        found[f"{name}_before_bytes"], found[f"{name}_after_bytes"] = before.item(0, name), after.item(0, name)
    found["both_before_bytes"] = before.item(0, "live") + before.item(0, "snapshots")
    found["both_after_bytes"] = after.item(0, "live") + after.item(0, "snapshots")
    return found


def capture_ends(recording: Recording) -> dict[str, Any]:
    """Read where captures were scheduled and where requests resumed."""
    ends = recording.rows(Scheduled)["end"].unique().sort().to_list()
    return {"captures_at": ends, "resumed_at": recording.requests["cached"].to_list()}


def rules_broken(recording: Recording) -> dict[str, Any]:
    """Read which rules were broken, by id."""
    broken = recording.rows(Violation)["rule"].unique().sort().to_list()
    return {"rules_broken": broken}


def per_turn(fault: Recording, cured: Recording, shape: Shape) -> dict[str, Any]:
    """Return the growth of the fault arm over its last turn, and what a whole state takes."""
    del cured
    before, after = fault.requests["counted"].tail(2)
    return {"growth_of_the_last_turn_bytes": after - before, "whole_state_bytes": shape.state_bytes}


def conv_ratio(fault: Recording, cured: Recording, shape: Shape) -> dict[str, Any]:
    """Return how many times its own rows a view of a convolution's input keeps alive: a chunk and the tail, over the tail."""
    del cured, shape
    return {"chunk_and_tail_over_tail": (fault.manifest.policy["prefill_chunk"] + CONV_TAIL) / CONV_TAIL}


def consumed(fault: Recording, cured: Recording, shape: Shape) -> dict[str, Any]:
    """Return how far the peaks of the last request are apart, and the bytes of the merge inputs consumed before its last merge.

    Both arms peak while the last merge joins its two inputs: these are held in both.
    """
    last = fault.requests.height
    events = fault.rows(NodeMerged).filter(request=last)
    merged = int((events["end"] - events["start"])[:-1].sum())
    peaks = [recording.requests.item(last - 1, "peak") for recording in (fault, cured)]
    return {
        "peaks_apart_bytes": peaks[0] - peaks[1],
        "consumed_before_the_last_merge_bytes": merged * shape.bytes_per_token,
        "one_growth_step_bytes": sum(group.growth_step * group.bytes_per_token for group in shape.groups),
    }
