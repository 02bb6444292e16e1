"""Facts: what is known of a recording, and how well. What every question starts from.

Each part is folded from the recording once, when it is first read, and kept. Nothing here runs a model or decides anything.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from kvlab.display import Rich
from kvlab.errors import BadValue
from kvlab.events import (
    EVENTS,
    ChunkRan,
    Evicted,
    LifeSign,
    Listed,
    Loaded,
    ProcessSeen,
    RunnerChanged,
    Served,
    SnapshotTaken,
    Violation,
    Warned,
    WrongPositions,
)
from kvlab.policy import Policy
from kvlab.recording.extremes import largest
from kvlab.recording.facts.answers import Answers, answers_of
from kvlab.recording.facts.figures import GAUGES, OF_PROCESS, OF_SERVER, OTHER_GAUGES, Gauge, Series, figures_of, gauges_of, series_of
from kvlab.recording.facts.known import Known
from kvlab.recording.facts.lifetimes import restarts_of, stop_of
from kvlab.recording.facts.machine import Machine, machine_of
from kvlab.recording.facts.owners import Owners, counted_of, owners_of
from kvlab.recording.facts.parts import OTHER_CACHES, Parts, parts_of
from kvlab.recording.facts.samples import Sample, samples_of
from kvlab.recording.readings import PREDICTED
from kvlab.recording.recording import Recording
from kvlab.shape import WHOLE_STATE, Shape
from kvlab.units import binary
from kvlab.visible_text import visible

OWN = ("lab", "twin")
"""Sources whose cache is seen from inside and that record each request's reason. Of all others reasons are derived, and evictions do not show."""

CONTEXTS = ("asked_context", "num_ctx", "context")
"""Gauges of the context length that a request was sent with."""

MOST_CONTEXT = 2**24
"""Tokens of context that are believed; a pasted figure may be anything."""

_VERSION = re.compile(r"\d+\.\d+\.\d+")
_OF_A_SERVER = ("size", "size_vram", "reported", "paged_out", "nodes", *OTHER_CACHES)
_SERVERS = re.compile(r"ollama|llama|mlx|lm.?studio", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Facts(Rich):
    """What is known of one recording.

    Attributes:
        recording: What they are folded from.
        shape: What the model keeps; the value is None when it is unknown.
        policy: The rules of the cache; `unknown` when nothing in the recording shows a prefix cache, the value is then upstream main's.
        machine: The bytes of the machine.
    """

    recording: Recording = field(repr=False)
    shape: Known[Shape | None]
    policy: Known[Policy]
    machine: Machine

    @property
    def source(self) -> str:
        """Who made the events: lab, twin, probe, or an importer."""
        return self.recording.manifest.source

    @property
    def inside(self) -> bool:
        """Whether the cache itself was observed: a run of kvlab's own."""
        return self.source in OWN

    @property
    def exact(self) -> bool:
        """Whether the bytes are a twin's, which are exact, and its seconds mean nothing."""
        return self.source == "twin"

    @property
    def damaged(self) -> bool:
        """Whether events are missing."""
        return bool(self.recording.damaged)

    @property
    def device(self) -> str:
        """The device of the model: `cpu`, `gpu`, or "" when it was not recorded."""
        return str(self.recording.manifest.origin.get("device") or "")

    @property
    def requests(self) -> pl.DataFrame:
        """The table `requests`: tokens, matched, cached, left, reason, seconds, peak and bytes; null for what was not recorded."""
        return self.recording.requests

    @property
    def observed(self) -> pl.DataFrame:
        """The table of figures read from outside."""
        return self.recording.observed

    @property
    def spans(self) -> pl.DataFrame:
        """The table of snapshots."""
        return self.recording.spans

    @cached_property
    def version(self) -> str:
        """The server's version as a log or a probe names it; "" when it was not recorded."""
        return version_of(self.recording)

    @cached_property
    def model(self) -> str:
        """The name most events give the model, or the manifest's."""
        return model_of(self.recording)

    @cached_property
    def models_listed(self) -> tuple[str, ...]:
        """The models that a server listed as loaded, in the order of their first mention."""
        named = self.of_kind(Listed.kind).filter(pl.col("count") > 0)
        return tuple(named.get_column("model").drop_nulls().unique(maintain_order=True)) if named.height else ()

    @cached_property
    def none_listed(self) -> bool:
        """Whether the list of models was read and never had one."""
        counts = self.of_kind(Listed.kind).get_column("count").drop_nulls()
        return bool(len(counts)) and not (counts > 0).any()

    @cached_property
    def context(self) -> int | None:
        """The longest context that was listed or sent, in tokens; None when none was recorded."""
        listed = self.of_kind(Listed.kind).get_column("context").drop_nulls()
        sent = self.observed.filter(pl.col("gauge").is_in(CONTEXTS)).get_column("number").drop_nulls()
        found = [int(value) for value in (*listed, *sent) if 0 < value <= MOST_CONTEXT]
        return max(found) if found else None

    @cached_property
    def budget(self) -> Known[int]:
        """The bytes that the cache may count: the limit that a server reports for its own, else the policy's."""
        limit = self.last.get("prompt_cache_limit")
        return Known(self.policy.value.budget_bytes, self.policy.how, self.policy.by) if limit is None else Known(limit, "known", "the server's own limit")

    @cached_property
    def gauges(self) -> dict[str, Gauge]:
        """What was read from outside, by gauge."""
        return gauges_of(self.observed)

    @cached_property
    def last(self) -> dict[str, int]:
        """The last bytes of each gauge that was read; of several models loaded at once those of one."""
        rows = {gauge: self.figures(gauge) for gauge in (*self.gauges, "active")}
        return {gauge: int(read.item(-1, "value")) for gauge, read in rows.items() if read.height}

    def figures(self, gauge: str) -> pl.DataFrame:
        """Return the bytes that were read of a gauge: seq, t, request, gauge, value and step."""
        return figures_of(self.observed, self.requests, gauge, models=len(self.models_listed))

    @cached_property
    def charged(self) -> dict[str, pl.DataFrame]:
        """The figures that can be taken for the model's bytes, by gauge: without those of a process that never held as much as the server lists.

        Such a process is not charged with the arrays (on Linux, what a GPU holds; pages never written), so its figures say nothing of them.
        """
        read = {gauge: self.figures(gauge) for gauge in (*GAUGES, *OTHER_GAUGES)}
        listed = max((largest(read[gauge]["value"]) for gauge in OF_SERVER), default=0)
        return {gauge: rows for gauge, rows in read.items() if gauge not in OF_PROCESS or largest(rows["value"]) >= listed}

    @cached_property
    def restarts(self) -> tuple[int, ...]:
        """The requests after which a runner held nothing any more."""
        return restarts_of(self.recording.tables)

    @cached_property
    def stopped(self) -> tuple[float, tuple[int, ...]] | None:
        """The seconds and processes of the stop that left no runner alive; None when one may be."""
        return stop_of(self.recording.tables)

    @cached_property
    def series(self) -> tuple[Series, ...]:
        """The bytes of the model by request, a part for each lifetime of its runner, the longest first."""
        return series_of({gauge: rows for gauge, rows in self.charged.items() if gauge in GAUGES}, self.requests, self.restarts)

    @cached_property
    def owners(self) -> Owners:
        """The bytes of the cache's own owners by request, of the requests for which all were read."""
        counts_live = self.policy.value.budget_counts == "resident"
        return owners_of(self.requests, self.evicted_in(), self.evicted_in("entries"), counts_live=counts_live, exact=self.exact)

    @cached_property
    def counted(self) -> tuple[Owners, ...]:
        """What the cache counts by request, where nothing else of its owners was read: one for each arm of a table."""
        return counted_of(self.requests, self.observed, self.evicted_in(), self.budget.value)

    @cached_property
    def parts(self) -> Parts:
        """The bytes of what the model takes, at the last reading."""
        return parts_of(self.recording.tables, self.requests, self.observed, self.last)

    @cached_property
    def first_size(self) -> int | None:
        """The first size of the model that was listed or loaded: weights, mostly; None when none was recorded."""
        for gauge in (*OF_SERVER, "reported", "resident"):
            rows = self.observed.filter((pl.col("gauge") == gauge) & pl.col("value").is_not_null())
            if rows.height:
                return int(rows.item(0, "value"))
        return self.loaded_weights

    @cached_property
    def loaded_weights(self) -> int | None:
        """The weights' bytes as they were loaded; None when that was not recorded."""
        loaded = self.of_kind(Loaded.kind).filter(pl.col("weights") > 0)
        return int(loaded.item(0, "weights")) if loaded.height else None

    @cached_property
    def samples(self) -> tuple[Sample, ...]:
        """What was seen at each moment: listed models, processes and their bytes."""
        return samples_of(self.recording.tables)

    @cached_property
    def children(self) -> frozenset[int]:
        """The processes that another one that was seen started."""
        rows = self.of_kind(ProcessSeen.kind).select("pid", "ppid").unique()
        known = set(rows.get_column("pid"))
        return frozenset(pid for pid, ppid in rows.iter_rows() if ppid in known)

    @cached_property
    def signs(self) -> pl.DataFrame:
        """The signs of a server's life that a client saw, in order."""
        return self.of_kind(LifeSign.kind).select("seq", "t", "request", "state", "model", "pid", "seconds", "message")

    @cached_property
    def served_s(self) -> float:
        """The seconds of the calls that a server's access log says it answered with tokens."""
        calls = self.of_kind(Served.kind, "label", "seconds").filter(pl.col("label").str.contains("generate|chat|completions|embed"))
        return float(calls.get_column("seconds").sum())

    @cached_property
    def answers(self) -> Answers | None:
        """The marks of a contamination test in the answers; None when none was searched."""
        return answers_of(self.observed, self.requests)

    @cached_property
    def wrong_positions(self) -> pl.DataFrame:
        """Restored positions that hold what another request wrote."""
        return self.of_kind(WrongPositions.kind).select("seq", "request", "group", "layer", "start", "end", "belongs_to")

    @cached_property
    def violations(self) -> pl.DataFrame:
        """Rules that did not hold."""
        return self.of_kind(Violation.kind).select("seq", "request", "rule", "message")

    @cached_property
    def checked(self) -> bool:
        """Whether every restored position was verified: a run says so, or it found something.

        Real arrays do not say which request wrote a position; the checked twin of a real run's tokens does.
        """
        found = self.wrong_positions.height > 0
        return found or self.recording.manifest.checked or (self.exact and self.violations.height > 0)

    @cached_property
    def warnings(self) -> tuple[tuple[int, str], ...]:
        """The warnings of the source, each with its request (0 for none)."""
        rows = self.of_kind(Warned.kind, "request", "message").select("request", "message").drop_nulls("message")
        return tuple((int(request or 0), str(message)) for request, message in rows.iter_rows())

    @cached_property
    def evictions(self) -> pl.DataFrame:
        """The nodes that were evicted: seq, request, the bytes freed and the limit that was passed."""
        rows = self.of_kind(Evicted.kind, "seq", "request", "source", "freed", "reason").filter(pl.col("source").ne_missing(PREDICTED))
        return rows.select("seq", "request", pl.col("freed").fill_null(0), pl.col("reason").fill_null("budget"))

    def evicted_in(self, reason: str = "budget") -> tuple[int, ...]:
        """Return the requests in which something was evicted because the budget, or the number of `entries`, was passed, in order."""
        return tuple(int(request) for request in self.evictions.filter(reason=reason).get_column("request").unique().sort())

    @cached_property
    def prefilled(self) -> pl.DataFrame:
        """By request, the prompt token up to which its prefill came: `request`, `evaluated`."""
        return self.of_kind(ChunkRan.kind, "request", "end").group_by("request").agg(pl.col("end").max().alias("evaluated"))

    @cached_property
    def whole_states(self) -> pl.DataFrame:
        """By request, the whole states that were captured: `request`, `states`, `state_bytes`."""
        taken = self.of_kind(SnapshotTaken.kind, "request", "end", "layer", "counted").filter(pl.col("layer").is_in(WHOLE_STATE))
        each = taken.group_by("request", "end").agg(pl.col("counted").sum())
        return each.group_by("request").agg(pl.len().cast(pl.Int64).alias("states"), pl.col("counted").sum().alias("state_bytes"))

    @cached_property
    def waited(self) -> pl.DataFrame:
        """By request, the seconds that are in none of the server's own: `request`, `waited`."""
        rows = self.observed.filter(pl.col("gauge") == "waited_s")
        return rows.group_by("request").agg(pl.col("number").sum().alias("waited"))

    def numbers(self, gauge: str) -> list[float]:
        """Return the figures of a gauge that are not bytes: those of no request first, then those of requests in their order."""
        return self.observed.filter(pl.col("gauge") == gauge).sort("request", maintain_order=True).get_column("number").drop_nulls().to_list()

    def of_kind(self, kind: str, *columns: str) -> pl.DataFrame:
        """Return the events of a kind, in order, with some of their columns; with all of them when none is named."""
        return self.recording.rows(EVENTS[kind], columns=["kind", *columns] if columns else None)

    def to_dict(self) -> dict[str, Any]:
        """Return what is known as JSON holds it."""
        shape = self.shape.value
        return {
            "source": self.source,
            "model": self.model,
            "version": self.version or None,
            "shape": {"name": shape.name if shape else None, "how": self.shape.how, "by": self.shape.by},
            "budget_bytes": {"value": self.budget.value if self.budget.how != "unknown" else None, "how": self.budget.how, "by": self.budget.by},
            "requests": self.requests.height,
            "requests_with": {name: self.requests.height - self.requests[name].null_count() for name in _PER_REQUEST},
            "gauges": [
                {"gauge": one.name, "figures": one.figures, "unit": one.unit, "step_bytes": one.step, "from_s": one.first_t, "to_s": one.last_t}
                for one in self.gauges.values()
            ],
            "machine_bytes": self.machine.total,
            "available_bytes": self.machine.available,
            "parts": dict(self.parts.bytes),
            "samples": len(self.samples),
        }

    def text(self) -> str:
        """Return what is known as text, a line a fact."""
        shape, count = self.shape.value, self.requests.height
        recorded = ", ".join(f"{known} with {name}" for name in _PER_REQUEST if (known := count - self.requests[name].null_count()))
        lines = [
            f"Facts of {self.model} ({self.source}{f', version {self.version}' if self.version else ''})",
            f"  requests    {count}{f': {recorded}' if recorded else ''}",
            f"  shape       {_words(self.shape, shape.name if shape else '-')}",
            f"  budget      {_words(self.budget, binary(self.budget.value) if self.budget.how != 'unknown' else '-')}",
            f"  machine     {binary(self.machine.total) if self.machine.total else 'unknown'}"
            + (f", {binary(self.machine.available)} available ({self.machine.available_by})" if self.machine.available is not None else ""),
            *(f"  {one.name:<11} {_gauge_words(one)}" for one in self.gauges.values()),
        ]
        if self.parts.bytes:
            lines.append(f"  at the end  {', '.join(f'{name} {binary(value)}' for name, value in self.parts.bytes.items())}")
        return visible("\n".join(lines))

    def __repr__(self) -> str:
        return self.text()


_PER_REQUEST = ("tokens", "matched", "cached", "generated", "prefill_s", "decode_s", "peak", "counted", "active")


def _words(one: Known[Any], value: str) -> str:
    return f"{value} ({one.how}{f': {one.by}' if one.by else ''})"


def _gauge_words(one: Gauge) -> str:
    figures = f"{one.figures} figure{'' if one.figures == 1 else 's'}"
    step = f", {binary(one.step)} apart at most" if one.step and one.step > 1 else ""
    span = f", {one.first_t:g} to {one.last_t:g} s" if one.last_t > one.first_t else ""
    return f"{figures}{f' in {one.unit}' if one.unit else ''}{step}{span}"


def model_of(recording: Recording) -> str:
    """Return the name most events give the model, or the manifest's."""
    named = recording.tables.names("model")
    named = named.filter(named != "")
    return str(named.mode().sort()[0]) if len(named) else recording.manifest.model


def version_of(recording: Recording) -> str:
    """Return the server's version as a log or a probe names it; "" when it was not recorded."""
    origin = recording.manifest.origin
    return str(origin.get("server_version") or origin.get("ollama") or "")


def policy_of(recording: Recording) -> Known[Policy]:
    """Return the rules of the cache: as recorded, else those of the server's release, else upstream main's where anything shows a prefix cache."""
    if recording.policy is not None:
        return Known(recording.policy, "known", "the recording")
    version = _VERSION.search(version_of(recording))
    if version is not None:
        try:
            return Known(Policy.ollama(version[0]), "known", f"version {version[0]}")
        except BadValue:
            pass
    return Known(Policy(), "assumed", "Ollama's default") if _shows_cache(recording) else Known(Policy(), "unknown")


def _shows_cache(recording: Recording) -> bool:
    """Return whether something in a recording shows a server that keeps a prefix cache: a request, a list of models, a runner, its process or its figures."""
    if recording.tables.has(Listed, RunnerChanged, LifeSign) or recording.requests.height:
        return True
    observed = recording.observed
    named = observed.get_column("label").drop_nulls().unique().to_list() + recording.tables.names("label").unique().to_list()
    return bool(observed.get_column("gauge").is_in(_OF_A_SERVER).any()) or any(_SERVERS.search(str(name)) for name in named)


def fold(
    recording: Recording,
    *,
    shape: Known[Shape | None] | None = None,
    policy: Known[Policy] | None = None,
    machine_bytes: int | None = None,
) -> Facts:
    """Return the facts of a recording.

    Args:
        recording: Of a run, a twin, a probe, or an import.
        shape: What else is known of the model's shape, where the recording does not have it or a user gives another.
        policy: The rules that a user gives.
        machine_bytes: All bytes of the machine, as a user gives them.
    """
    if shape is None or (shape.how != "known" and recording.shape is not None):
        shape = Known(recording.shape, "known" if recording.shape is not None else "unknown", "the recording" if recording.shape is not None else "")
    machine = machine_of(recording.observed, recording.manifest, machine_bytes)
    return Facts(recording, shape, policy or policy_of(recording), machine)
