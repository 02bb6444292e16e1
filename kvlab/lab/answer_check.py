"""Answer check: every request of a run compared with a cold run on the same tokens and chunk edges, on real arrays.

After a request's begin the restored contents lie in the live buffers. A second set of buffers over the same weights evaluates the
same tokens from nothing, cut where the requests that wrote them were cut (the twin of the run knows who wrote what, and who it was that
wrote what is there now). Chunk edges matter: a kernel may round otherwise when more rows are computed at once.
"""

# pyright: standard
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from kvlab.errors import BadValue, NotAvailable
from kvlab.events import ChunkRan, Event, Matched, RequestClosed, TokenOut
from kvlab.lab.twin import Twin
from kvlab.layers.spans import Run
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.workloads import Request, Workload, resolve

if TYPE_CHECKING:
    import numpy as np

    from kvlab.lab.lab import Lab
    from kvlab.models.mlx_model import MLXModel

TOLERANCE = 1e-3
"""Of a layer's largest number: what other chunk edges may change. Another request's contents differ by about the largest number itself."""

COLUMNS = {
    "request": pl.Int64(),
    "group": pl.Int64(),
    "layer": pl.String(),
    "state": pl.String(),
    "start": pl.Int64(),
    "end": pl.Int64(),
    "belongs_to": pl.Int64(),
    "difference": pl.Float64(),
    "same_reply": pl.Boolean(),
}
"""A comparison's columns: a row for each stretch of restored positions [start, end) of a layer group that is `identical`, `numeric` or `wrong`.

`belongs_to` is the request whose tokens lie there now; `difference` the largest one, as a share of the layer's largest number; `same_reply`
whether the request's reply is that of the cold run, null when it was given or when there was none.
"""

STATES = ("identical", "numeric", "wrong")


@dataclass(frozen=True, slots=True)
class Checked:
    """A run, and its restored contents compared with cold ones (`COLUMNS`)."""

    recording: Recording
    compared: pl.DataFrame


def check_answers(lab: Lab, workload: Workload | Request | str, policy: Policy | None = None, *, store_text: bool = False) -> Checked:
    """Run a workload and compare every request that restored something with a cold run.

    Raises:
        BadValue: the model's layers have no arrays to compare (the twin).
        NotAvailable: its keys and values are quantised.
        KvlabError: the workload cannot be run.
    """
    from kvlab.layers.mlx_rows import is_quantised
    from kvlab.models.mlx_model import MLXModel

    model = lab._model  # noqa: SLF001  # pyright: ignore[reportPrivateUsage]  a lab's model is what a second set of buffers is made of
    if not isinstance(model, MLXModel):
        raise BadValue(what=f"{lab.name} has no arrays", why="a cold run needs a real model", hint="on the twin use run(..., check=True)")
    if any(is_quantised(cache) for store in model.stores for cache in getattr(store, "caches", ())):
        raise NotAvailable(
            what=f"the answers of {lab.name} with quantised keys and values cannot be checked against cold ones",
            why="a last bit that differs before packing may change any packed number, so right and wrong cannot be distinguished",
            hint="check the same requests without kv_bits; which positions are wrong does not depend on it",
        )
    work = resolve(workload) if isinstance(workload, str) else workload if isinstance(workload, Workload) else Workload("request", (workload,))
    walk = _Walk(lab, model, given=[request.generated is not None for request in work.requests])
    recording = lab.run(work, policy, store_text=store_text, progress=False, each=walk.see)
    walk.finish()
    return Checked(recording, pl.DataFrame(walk.rows, schema=COLUMNS, orient="row"))


@dataclass
class _Walk:
    """Follows a run event by event, with the twin and the cold buffers next to it."""

    lab: Lab
    model: MLXModel
    given: list[bool]
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    edges: dict[int, list[int]] = field(default_factory=dict)
    written: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from kvlab.models.mlx_model import MLXModel

        self.cold = MLXModel(self.model.name, self.model.net, self.model.tokenizer, context=self.model.shape.context)
        self.twin: Twin | None = None
        self.cached = 0
        self.reply: list[int] = []
        self.own: list[int] = []
        self.restored: list[list[np.ndarray]] = []

    def see(self, event: Event) -> None:
        """Take one event of the run."""
        if isinstance(event, Matched):
            self.cached, self.reply, self.own = event.cached, [], []
            self.restored = _contents(self.lab.cache.layers, event.cached)
        elif isinstance(event, ChunkRan):
            self.own.append(event.end)
        elif isinstance(event, TokenOut) and event.token is not None:
            self.reply.append(event.token)
        elif isinstance(event, RequestClosed):
            self._closed(event)

    def finish(self) -> None:
        """Free the cold buffers."""
        self._empty()

    def _closed(self, event: RequestClosed) -> None:
        number = event.request
        prompt, reply = self.lab.last
        if self.twin is None:
            self.twin = Twin(self.lab.shape, self.lab.policy)
        # only a prompt that is scored is evaluated to its end before a reply
        scored = (self.own[-1] if self.own else self.cached) == len(prompt)
        self.own += range(len(prompt), len(prompt) + len(reply))
        self.edges[number], self.written[number] = self.own, [*prompt, *reply]
        cut = self.own[-1] if event.stop == "cancelled" and not reply and self.own else None
        runs = self._writers(Request(tokens=tuple(prompt), generated=tuple(reply), cancel_after=cut, score=scored), len(self.lab.cache.layers))
        if self.cached:
            self._compare(number, prompt, reply, runs)

    def _writers(self, request: Request, groups: int) -> list[tuple[Run, ...]]:
        runs: list[tuple[Run, ...]] = [()] * groups
        assert self.twin is not None  # noqa: S101 - made when the first request closed
        for event in self.twin.step(request):
            if isinstance(event, Matched):
                runs = [tuple(layer.store.contents(0, event.cached)) for layer in self.twin.cache.layers]  # pyright: ignore[reportAttributeAccessIssue]
        return runs

    def _compare(self, number: int, prompt: Sequence[int], reply: Sequence[int], runs: Sequence[Sequence[Run]]) -> None:
        inherited = self._inherited(runs)
        self._empty()
        self.cold.begin(number, Request().sampling, None)
        for start, end in pairwise([0, *inherited]):
            self.cold.prefill(prompt[start:end])
        fresh = _contents_of(self.cold.stores, self.cached)
        same = None if self.given[number - 1] else self._same_reply(prompt, reply, self.own)
        for group, layer in enumerate(self.lab.cache.layers):
            whole = not layer.rewinds
            for state, start, end, owner, difference in _stretches(self.restored[group], fresh[group], self.cached, runs[group], whole=whole):
                self.rows.append((number, group, layer.kind, state, start, end, owner, difference, same))

    def _inherited(self, runs: Sequence[Sequence[Run]]) -> list[int]:
        found = {self.cached}
        for run in max(runs, key=len, default=()):
            found |= {edge for edge in self.edges[run.writer] if run.start < edge < run.end} | {run.end}
        return sorted(edge for edge in found if edge <= self.cached)

    def _same_reply(self, prompt: Sequence[int], reply: Sequence[int], own: Sequence[int]) -> bool | None:
        if not reply:
            return None
        last = len(prompt) - 1
        for start, end in pairwise([self.cached, *(edge for edge in own if edge <= last)]):
            self.cold.prefill(prompt[start:end])
        token = prompt[-1]
        for expected in reply:
            (token,) = self.cold.decode(token)
            if token != expected:
                self.cold.end()
                return False
        self.cold.end()
        return True

    def _empty(self) -> None:
        for store in self.cold.stores:
            store.drop()


def _contents(layers: Sequence[Any], cached: int) -> list[list[np.ndarray]]:
    return _contents_of([layer.store for layer in layers], cached)


def _contents_of(stores: Sequence[Any], cached: int) -> list[list[np.ndarray]]:
    """Return, by group, the restored arrays: of KV layers slots [0, cached), of windows the positions that are attended to, of others the whole state."""
    if not cached:
        return []
    found: list[list[np.ndarray]] = []
    for store in stores:
        data = store.copy(0, cached) if store.group.kind in ("kv", "draft_kv") else [_arrays(one, store.group.window) for one in store.copy()]
        found.append([_as_float32(array) for _, array in _flat(data)])
    return found


def _arrays(copy: Any, window: int) -> list[Any]:
    """Return the arrays of one layer's copy; a window's last rows in the order of their positions, since how many more it holds depends on what wrote it."""
    import mlx.core as mx

    from kvlab.layers.mlx_state import Window

    if not isinstance(copy, Window):
        return [array for array in copy if array is not None]
    return [mx.roll(rows, -copy.index, 2)[..., -window:, :] for rows in (copy.keys, copy.values)]


def _flat(data: Any) -> Any:
    from mlx.utils import tree_flatten

    return tree_flatten(data)


def _as_float32(array: Any) -> np.ndarray:
    import mlx.core as mx
    import numpy as np

    return np.array(array.astype(mx.float32))


def _stretches(
    ours: Sequence[np.ndarray], cold: Sequence[np.ndarray], cached: int, runs: Sequence[Run], *, whole: bool
) -> list[tuple[str, int, int, int, float]]:
    """Return the stretches of positions by state and by owner."""
    import numpy as np

    if whole:
        share = max((_share(mine, theirs).max(initial=0.0) for mine, theirs in zip(ours, cold, strict=True)), default=0.0)
        owner = runs[-1].writer if runs else 0
        return [(_state(float(share)), 0, cached, owner, float(share))]
    by_position = np.zeros(cached)
    for mine, theirs in zip(ours, cold, strict=True):
        by_position = np.maximum(by_position, _share(mine, theirs).max(axis=(0, 1, 3)))
    owners = np.zeros(cached, dtype=int)
    for run in runs:
        owners[run.start : run.end] = run.writer
    states = [_state(float(share)) for share in by_position]
    cuts = [0, *(at for at in range(1, cached) if (states[at], owners[at]) != (states[at - 1], owners[at - 1])), cached]
    return [(states[start], start, end, int(owners[start]), float(by_position[start:end].max())) for start, end in pairwise(cuts)]


def _share(mine: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    import numpy as np

    return np.abs(mine - theirs) / max(float(np.abs(theirs).max(initial=0.0)), 1e-30)


def _state(share: float) -> str:
    return STATES[0] if share == 0 else STATES[1] if share <= TOLERANCE else STATES[2]


__all__ = ["COLUMNS", "STATES", "TOLERANCE", "Checked", "check_answers"]
