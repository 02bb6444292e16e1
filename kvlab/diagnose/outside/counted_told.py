"""The verdict on counted bytes that a log's trie dumps or a table tell, request by request, under the budget of the server's rules.

What the cache counts is known here, what it holds beside that is not: a leak beside the count cannot be seen. What stays above the budget is
by design when a simulation of the same requests is above it too, or when under rules that exempt the active path the requests repeated it.
A table of two arms (before and after a change) is judged arm by arm, and the graver verdict is the finding's.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from kvlab.diagnose.budget_or_leak import LEAST_REQUESTS, QUESTION, REFUTED_BY, growth_above, until_full, verdict_of
from kvlab.diagnose.filling import filling
from kvlab.diagnose.finding import Evidence, Finding, Number
from kvlab.diagnose.known import policy_of, policy_told, shape_of
from kvlab.diagnose.outside.requests_told import counts_of
from kvlab.diagnose.outside.told_twin import told_twin
from kvlab.diagnose.series import Series, evicted_in
from kvlab.diagnose.trend import NONE, Values
from kvlab.recording import Recording
from kvlab.units import binary

NEAR = 0.1
"""The share by which a simulation of requests of which only the counts are known may be below what was counted."""

GRAVEST = ("unexplained", "over_budget_by_design", "budget", "budget_filling", "no_growth")


def counted_told(recording: Recording) -> Finding | None:
    """Return the verdict on counted bytes; None when fewer than `LEAST_REQUESTS` requests have them."""
    found = [_judged(recording, arm, rows) for arm, rows in _arms(recording).items() if rows.height >= LEAST_REQUESTS]
    return min(found, key=lambda finding: GRAVEST.index(finding.verdict), default=None)


def _arms(recording: Recording) -> dict[str, pl.DataFrame]:
    read = recording.requests.filter(pl.col("counted").is_not_null()).select("request", pl.col("counted").alias("value"))
    if read.height:
        return {"": read}
    told = recording.observed.filter((pl.col("gauge") == "paged_out") & pl.col("value").is_not_null() & (pl.col("request") > 0))
    arms = told.get_column("label").unique(maintain_order=True)
    return {str(arm): told.filter(pl.col("label") == arm).select("request", "value").unique("request", keep="last").sort("request") for arm in arms}


def _judged(recording: Recording, arm: str, rows: pl.DataFrame) -> Finding:
    budget = policy_of(recording).budget_bytes
    data = _series(recording, rows, budget)
    fill = filling(data)
    verdict = verdict_of(data, fill, (NONE, False), explained=_rules_explain(recording, data))
    counted = data.counted
    left = None if fill.reached is not None else fill.requests_until_full(max(0.0, float(budget - counted[-1])))
    numbers: dict[str, Number] = {
        "requests": len(data),
        "last_request": int(data.request[-1]),
        "arm": arm,
        "budget_bytes": budget,
        "counted_bytes": round(float(counted[-1])),
        "largest_counted_bytes": round(float(counted.max())),
        "over_budget_bytes": round(max(0.0, float(counted[-1]) - budget)),
        "growth_bytes_per_request": round(fill.growth.value),
        "growth_above_budget_bytes_per_request": growth_above(data),
        "evicting_requests": len(data.evicted_in),
        "requests_until_full": left,
        "unexplained_slope_bytes_per_request": None,
    }
    places = sorted({0, len(data) // 2, len(data) - 1})
    return Finding(
        question=QUESTION,
        verdict=verdict,
        summary=(f"{arm.capitalize()}: " if arm else "") + _WORDS[verdict].format(**_words(numbers)) + _ASSUMED[policy_told(recording) is None],
        numbers=numbers,
        confidence="medium" if len(data) >= 10 and policy_told(recording) is not None else "low",
        evidence=(Evidence("requests", tuple(rows.gather(places).rename({"value": "counted"}).to_dicts())),),
        refuted_by=REFUTED_BY[verdict],
    )


def _rules_explain(recording: Recording, data: Series) -> bool:
    """Return whether the rules let a cache count as much above the budget after these requests, without growing."""
    if data.counted[-1] <= data.budget[-1]:
        return False
    shape, policy, told = shape_of(recording), policy_told(recording), counts_of(recording)
    if shape is not None and policy is not None and told:
        simulated = told_twin(told, shape, policy).finding.numbers.get("counted_bytes")
        return isinstance(simulated, int) and simulated > (1 - NEAR) * data.counted[-1]
    rose = np.flatnonzero(np.diff(data.counted) > 0)
    stays = data.request[rose[-1] + 2 if len(rose) else 1 :].astype(int)
    repeated = recording.requests.filter(pl.col("request").is_in(stays) & (pl.col("tokens") - pl.col("matched") <= 1))
    return policy is not None and policy.protect == "active_path" and repeated.height == len(stays) > 0


def _series(recording: Recording, rows: pl.DataFrame, budget: int) -> Series:
    counted = rows.get_column("value").cast(pl.Float64).to_numpy()
    none: Values = np.zeros(len(counted))
    return Series(
        request=rows.get_column("request").cast(pl.Float64).to_numpy(),
        counted=counted,
        live=none,
        snapshots=counted,
        unattributed=none,
        retained=counted,
        active=counted,
        budget=np.full(len(counted), float(budget)),
        predicted_counted=None,
        predicted_live=None,
        evicted_in=evicted_in(recording),
        seen_by_budget=counted,
        counts_live=False,
        from_twin=False,
    )


def _words(numbers: dict[str, Number]) -> dict[str, str]:
    words = {name: binary(value) if "bytes" in name and isinstance(value, int | float) else str(value) for name, value in numbers.items()}
    goes = "and this grows" if numbers["growth_above_budget_bytes_per_request"] else "and stays there"
    return words | {"goes": goes, "until_full": f" {until_full(numbers['requests_until_full'], int(str(numbers['last_request'])))}".rstrip()}


_WORDS = {
    "over_budget_by_design": (
        "the cache counts {counted_bytes}, {over_budget_bytes} above its budget of {budget_bytes}, {goes}. Rules that exempt the active path from "
        "eviction (protect=active_path, Ollama up to 0.34) do that in one long conversation: every turn stores whole states that nothing may evict."
    ),
    "unexplained": (
        "the cache counts {counted_bytes}, {over_budget_bytes} above its budget of {budget_bytes}, {goes}: no rules that are known explain that. "
        "Name the server's release (--policy) and the model's config.json (--shape), and a simulation of the same requests says what they hold."
    ),
    "budget": "what the cache counts stops at the budget: {counted_bytes} of {budget_bytes}.",
    "budget_filling": "the cache counts {counted_bytes} of a budget of {budget_bytes}, {growth_bytes_per_request} more per request.{until_full}",
    "no_growth": "the cache counts {counted_bytes} and that no longer grows.",
}
_ASSUMED = (
    " Bytes beside the count were not read.",
    " The budget is Ollama's 8 GiB, which is assumed: no version is told. Bytes beside the count were not read.",
)
