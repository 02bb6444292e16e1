"""Metrics: what Prometheus scrapes at `/metrics`: bytes by owner, tokens matched, cached and left, evictions, who waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from kvlab.serve.client import scheduler_of
from kvlab.serve.figures import OWNERS
from kvlab.serve.scheduler import Entry, Scheduler

TEXT = "text/plain; version=0.0.4; charset=utf-8"

Table = tuple[tuple[str, str, Callable[[Entry], int]], ...]
"""Name, what it is, and how it is read from a loaded model."""

GAUGES: Table = (
    ("kvlab_counted_bytes", "Bytes that the policy's budget sees", lambda entry: _read(entry, "counted")),
    ("kvlab_budget_bytes", "The policy's budget in bytes", lambda entry: _read(entry, "budget")),
    ("kvlab_peak_bytes", "Highest active bytes of the last request", lambda entry: _read(entry, "peak")),
    ("kvlab_nodes", "Nodes of the prefix cache, the root included", lambda entry: _read(entry, "nodes")),
    ("kvlab_waiting_requests", "Requests that wait for their turn", lambda entry: len(entry.queue)),
    ("kvlab_running_requests", "Requests that run: 0 or 1", lambda entry: int(entry.queue.running is not None)),
    ("kvlab_runner_pid", "The runner's process", lambda entry: entry.runner.pid),
    ("kvlab_recording_failed", "1 when the recording could not be written any more", lambda entry: int(bool(entry.runner.recorder.failure))),
)

COUNTERS: Table = (
    ("kvlab_generated_tokens", "New tokens", lambda entry: entry.runner.figures.generated),
    ("kvlab_evictions", "Nodes evicted", lambda entry: entry.runner.figures.evictions),
    ("kvlab_evicted_bytes", "Counted bytes that eviction freed", lambda entry: entry.runner.figures.evicted_bytes),
)


def _read(entry: Entry, field: str) -> int:
    found = entry.runner.figures.bytes
    return 0 if found is None else int(getattr(found, field))


class LoadedModels(Collector):
    """Reads the figures of what is loaded when they are scraped; those of a model start again at 0 with each load."""

    def __init__(self, scheduler: Scheduler) -> None:
        self._scheduler = scheduler

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        entries = self._scheduler.entries()
        yield GaugeMetricFamily("kvlab_loaded_models", "Models that are loaded", value=len(entries))
        owners = GaugeMetricFamily("kvlab_bytes", "Bytes of the allocator by owner", labels=("model", "owner"))
        tokens = CounterMetricFamily("kvlab_prompt_tokens", "Prompt tokens: matched in the trie, restored (cached), evaluated (left)", labels=("model", "part"))
        requests = CounterMetricFamily("kvlab_requests", "Requests by why they ended", labels=("model", "stop"))
        for entry in entries:
            figures = entry.runner.figures
            for owner in OWNERS:
                owners.add_metric((entry.name, owner), _read(entry, owner))
            for part in ("matched", "cached", "left"):
                tokens.add_metric((entry.name, part), figures.tokens[part])
            for stop, number in figures.requests.items():
                requests.add_metric((entry.name, stop), number)
        yield from (owners, tokens, requests)
        for kind, table in ((GaugeMetricFamily, GAUGES), (CounterMetricFamily, COUNTERS)):
            for name, about, read in table:
                family = kind(name, about, labels=("model",))
                for entry in entries:
                    family.add_metric((entry.name,), read(entry))
                yield family


async def metrics(request: Request) -> Response:
    """Answer `/metrics`."""
    registry = CollectorRegistry()
    registry.register(LoadedModels(scheduler_of(request)))
    return Response(generate_latest(registry), media_type=TEXT)


ROUTES = [Route("/metrics", metrics, methods=["GET"])]
"""The call that Prometheus makes."""
