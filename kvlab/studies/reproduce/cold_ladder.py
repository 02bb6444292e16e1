"""B (#16698): a ladder of cold prompts on qwen3.6:35b under v0.30.8, whose captures pin the forward's buffer; and what was said to help."""

from __future__ import annotations

from typing import Any

from kvlab.events import Evicted
from kvlab.lab.peak_transients import growth, scores
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.studies.reproduce.peaks import PeakFit, fit, levels
from kvlab.studies.reproduce.published import Published
from kvlab.studies.reproduce.result import Made, Table
from kvlab.studies.reproduce.scenes import hybrid35, run_named
from kvlab.units import GB, GIB
from kvlab.workloads.experiments import LADDER

FITTED = 5
"""Rows on which the two constants are fitted."""

HEADS = 16
"""Query heads of an attention layer."""

REMEDIES: dict[str, dict[str, Any]] = {
    "as v0.30.8 was": {},
    "evict at close": {"evict_at": "begin,attach,page_out,close"},
    "prune a complete miss": {"on_miss": "prune"},
    "budget on resident bytes": {"budget_counts": "resident"},
    "budget of 2 GiB": {"budget_bytes": "2GiB"},
    "captures copied (what was done)": {"capture_as": "compact"},
}
"""What the thread discussed, as choices on top of v0.30.8."""

WHY = {
    "as v0.30.8 was": "what snapshots count stays below 8 GiB, so nothing is evicted",
    "evict at close": "the same: a budget that is not full evicts at no moment",
    "prune a complete miss": "each branch is freed at its request's end, with what it pins",
    "budget on resident bytes": "what is pinned counts, so old branches are evicted; the last prompt's own captures are protected",
    "budget of 2 GiB": "as above, but later; what merges consume waits for a sweep",
    "captures copied (what was done)": "nothing is pinned; the budget is not full",
}
"""Why each does what it does."""

MACHINE = 64 * GIB
"""Bytes of the report's machine."""


def make(published: Published) -> Made:
    """Predict the peaks, and compare the remedies on the same ladder."""
    peaks = [published.value(f"peak_{tokens}") * GIB for tokens in LADDER]
    before, flat = run_named("B"), run_named("B:0.30.7")
    known = fit(_levels(before)[: len(LADDER)], LADDER, peaks, FITTED)
    predicted = [known.peak(level, tokens) / GIB for level, tokens in zip(_levels(before), LADDER, strict=False)]
    figures: dict[str, float | None] = {f"peak_{tokens}": peak for tokens, peak in zip(LADDER, predicted, strict=True)}
    kept = [(one + known.base) / GB for one in before.requests["retained"]]
    owners = {
        "fresh": (hybrid35().weights_bytes + known.base) / GB,
        "after_64k": kept[5],
        "b2": known.peak(_levels(before)[7], LADDER[-1]) / GB,
        "idle": kept[7],
        "0_30_7": flat.requests["retained"][-1] / GB,
    }
    figures |= {f"rss_{state}": ours for state, ours in owners.items() if state != "0_30_7"} | {"flat_0_30_7": owners["0_30_7"]}
    figures |= {f"swap_{state}": max(0.0, ours - MACHINE / GB) for state, ours in owners.items()}
    return Made(figures | _work(before, flat), (_constants(known), _residuals(known, peaks), _without(peaks), _remedies(known)))


def _work(before: Recording, flat: Recording) -> dict[str, float]:
    """Return by how many percent the 131,072-token prompts evaluate, and attend to, more tokens than the same prompt on a fresh server."""
    (fresh,) = run_named("B2").requests.iter_rows(named=True)
    in_ladder, alone, after_flat = (run.requests.row(place, named=True) for run, place in ((before, 6), (before, 7), (flat, 7)))
    evaluated = {"ttft_in_ladder": in_ladder, "ttft_alone": alone, "ttft_0_30_7": after_flat}
    attended = {"decode_alone": alone, "decode_0_30_7": after_flat}
    return {name: 100 * (row["left"] / fresh["left"] - 1) for name, row in evaluated.items()} | {
        name: 100 * (row["tokens"] / fresh["tokens"] - 1) for name, row in attended.items()
    }


def _levels(recording: Recording) -> list[int]:
    return [one.total for one in levels(recording) if one.request]


def _constants(known: PeakFit) -> Table:
    chunk = Policy().prefill_chunk
    full = next(group for group in hybrid35().groups if group.kind == "kv")
    rows = (
        ("base", f"{known.base / GIB:+.3f} GiB", "next to weights of 20.5 GiB: their true size and fixed workspace"),
        ("per_token", f"{known.per_token:,.0f} B", "workspace of a prefill for every token of context"),
        ("  at least", f"{growth(full, 1):,} B", "one layer's old buffer, held with the new one while it grows"),
        ("  at most", f"{scores(HEADS, chunk, 1):,} B", f"scores of one layer: {HEADS} heads x {chunk} tokens x 2 bytes"),
    )
    return Table("two constants, least squares on the first five peaks", ("constant", "value", "meaning"), rows)


def _residuals(known: PeakFit, peaks: list[float]) -> Table:
    rows = tuple(
        (f"{tokens:,}", f"{peak / GIB:.2f}", f"{left / GIB:+.3f}", f"{100 * share:+.2f}", "fitted" if place < FITTED else "predicted")
        for place, (tokens, peak, left, share) in enumerate(zip(LADDER, peaks, known.residuals, known.shares, strict=True))
    )
    return Table("residuals", ("prompt, tokens", "published, GiB", "ours - published", "%", ""), rows)


def _without(peaks: list[float]) -> Table:
    copied = run_named("B", capture_as="compact")
    others = {
        "what v0.30.8 pins": _levels(run_named("B")),
        "the same, nothing pinned": _levels(copied),
        "a straight line, no rules": [0] * len(peaks),
    }
    rows: list[tuple[object, ...]] = []
    for name, level in others.items():
        known = fit(level[: len(LADDER)], LADDER, peaks, FITTED)
        rows.append((name, f"{known.per_token:,.0f}", *(f"{100 * share:+.2f}" for share in known.shares[FITTED:])))
    title = "what the 3 % bar is worth: other levels, fitted alike. Without what is pinned, per_token is past what scores can take"
    return Table(title, ("level", "per_token, B", "65,536: %", "131,072: %"), tuple(rows))


def _remedies(known: PeakFit) -> Table:
    rows: list[tuple[object, ...]] = []
    for name, choices in REMEDIES.items():
        recording = run_named("B", **choices)
        last = recording.requests.row(-1, named=True)
        peak = [known.peak(_levels(recording)[place], LADDER[-1]) / GIB for place in (6, 7)]
        sizes = (*peak, last["retained"] / GIB, last["paged_out"] / GIB, (last["snapshots"] - last["paged_out"]) / GIB)
        evicted = recording.rows(Evicted, columns=("seq",)).height
        rows.append((name, *(f"{one:.2f}" for one in sizes), last["nodes"], evicted, WHY[name]))
    columns = ("remedy", "peak of 131,072", "peak of one more", "held idle", "paged out", "pinned", "nodes", "evicted", "why")
    return Table("remedies that were discussed, on the same ladder, GiB", columns, tuple(rows))
