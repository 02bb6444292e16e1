"""Top: what each loaded model of a server holds now. A kvlab server reports bytes by owner, the runner and the queue; an Ollama what it lists."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime

from prometheus_client.parser import text_string_to_metric_families

from kvlab.importers.api_ps import ListedModel
from kvlab.probe.sample import Sample

FOREVER_S = 100 * 365 * 86400.0
"""Seconds from which a keep-alive has no end: upstream writes one of 292 years."""


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """One loaded model; None where it is not known.

    Attributes:
        model: Its name.
        pid: The process that holds it.
        size_bytes: Bytes that the server lists.
        footprint_bytes: Bytes that the system charges this process with.
        owner_bytes: Bytes by owner, of a kvlab server.
        left_s: Seconds until it is unloaded if no request comes.
        kept: No idle time unloads it.
        waiting: Requests that wait.
        running: Requests that run.
    """

    model: str
    pid: int | None
    size_bytes: int | None
    footprint_bytes: int | None
    owner_bytes: dict[str, int]
    left_s: float | None
    kept: bool
    waiting: int | None
    running: int | None


def loaded_models(sample: Sample, metrics: str = "", now: datetime | None = None) -> list[LoadedModel]:
    """Return what a sample's models hold, in the order in which the server lists them.

    Args:
        sample: The sample.
        metrics: What the server gives Prometheus.
        now: The moment from which keep-alive is counted.
    """
    figures, owners = _figures(metrics)
    return [_loaded(model, sample, figures[model.name], owners[model.name], now or datetime.now(UTC)) for model in sample.models or ()]


def _loaded(model: ListedModel, sample: Sample, figures: dict[str, int], owners: dict[str, int], now: datetime) -> LoadedModel:
    holders = sample.family.holders
    # an Ollama does not report which runner holds which model
    only = holders[0].pid if len(holders) == len(sample.models or ()) == 1 else None
    pid = figures.get("kvlab_runner_pid", only)
    footprint = None if pid is None or pid not in sample.held else sample.held[pid].footprint
    left = _left(model.expires_at, now)
    kept = left is not None and left > FOREVER_S
    waiting, running = figures.get("kvlab_waiting_requests"), figures.get("kvlab_running_requests")
    return LoadedModel(model.name, pid, model.size, footprint, owners, None if kept else left, kept, waiting, running)


def _left(expires_at: str, now: datetime) -> float | None:
    try:
        return max(0.0, (datetime.fromisoformat(expires_at) - now).total_seconds())
    except (ValueError, TypeError):
        return None


def _figures(metrics: str) -> tuple[defaultdict[str, dict[str, int]], defaultdict[str, dict[str, int]]]:
    """Return, by model, the figures by name and the bytes by owner; none where the text is not Prometheus's."""
    figures, owners = defaultdict[str, dict[str, int]](dict), defaultdict[str, dict[str, int]](dict)
    try:
        for family in text_string_to_metric_families(metrics):
            for one in family.samples:
                labels = one.labels
                if one.name == "kvlab_bytes":
                    owners[labels.get("model", "")][labels.get("owner", "")] = int(one.value)
                elif one.name.startswith("kvlab_"):
                    figures[labels.get("model", "")][one.name] = int(one.value)
    except (ValueError, OverflowError, KeyError, IndexError):
        return defaultdict(dict), defaultdict(dict)
    return figures, owners
