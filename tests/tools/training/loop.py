"""The training loop, with checkpoints.

Invariant: a training that was stopped and resumed ends with the weights of one that was not.
"""

# pyright: standard
from __future__ import annotations

import json
import math
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.tools.training import chunked_delta
from tests.tools.training.recipes import Recipe
from tests.tools.training.windows import Windows

if TYPE_CHECKING:
    import mlx.core as mx
    from mlx import nn

EVERY = 100
"""Steps between two checkpoints."""

LAST = "last.safetensors"
"""The name of a checkpoint."""

LONGEST_GRADIENT = 1.0


@dataclass(slots=True)
class Progress:
    """How far a training is: steps done, seconds spent on them by the clock and of CPUs, and the loss (nats a token) of every step."""

    steps: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    losses: list[float] = field(default_factory=list[float])


def train(net: nn.Module, recipe: Recipe, windows: Windows, checkpoints: Path) -> Progress:
    """Train `net` in place.

    Args:
        net: The recipe's net with fresh weights.
        recipe: The steps and the rates.
        windows: What is trained on.
        checkpoints: A folder; a checkpoint of the same recipe in it is gone on from.
    """
    import mlx.core as mx
    from mlx.nn.utils import value_and_grad
    from mlx.optimizers import clip_grad_norm
    from tqdm.auto import trange

    optimizer = _optimizer(net, recipe)
    progress = _resume(net, optimizer, recipe, checkpoints)
    gradient = value_and_grad(net, _loss)
    net.train()
    began, cpu_began = time.monotonic() - progress.seconds, time.process_time() - progress.cpu_seconds
    with chunked_delta.in_use(), trange(progress.steps, recipe.steps, initial=progress.steps, total=recipe.steps, desc=recipe.name) as steps:
        for step in steps:
            rows = mx.array(windows.draw(step, recipe.phase_at(step)))
            _set_rates(optimizer, recipe, step)
            value, grads = gradient(net, rows)
            grads, _ = clip_grad_norm(grads, LONGEST_GRADIENT)
            optimizer.update(net, grads)
            mx.eval(net.parameters(), optimizer.state, value)
            progress.losses.append(float(value.item()))
            progress.steps = step + 1
            progress.seconds, progress.cpu_seconds = time.monotonic() - began, time.process_time() - cpu_began
            steps.set_postfix(loss=f"{progress.losses[-1]:.3f}")
            if progress.steps % EVERY == 0:
                _keep(net, optimizer, recipe, progress, checkpoints)
    net.eval()
    return progress


def _loss(net: nn.Module, rows: mx.array) -> mx.array:
    from mlx.nn import losses

    return losses.cross_entropy(net(rows[:, :-1]), rows[:, 1:], reduction="mean")


def _optimizer(net: nn.Module, recipe: Recipe) -> Any:
    """Return Muon for the layers' matrices and AdamW for everything else."""
    from mlx.optimizers import AdamW, MultiOptimizer, Muon

    matrices = Muon(learning_rate=recipe.matrix_rate, weight_decay=0.0)
    others = AdamW(learning_rate=recipe.other_rate, betas=[0.9, 0.95], weight_decay=0.0)
    optimizer = MultiOptimizer([matrices, others], [lambda name, array: array.ndim == 2 and "embed" not in name])
    optimizer.init(net.trainable_parameters())
    return optimizer


def _set_rates(optimizer: Any, recipe: Recipe, step: int) -> None:
    share = min(1.0, (step + 1) / recipe.warm_up) * 0.5 * (1 + math.cos(math.pi * step / recipe.steps))
    for one, rate in zip(optimizer.optimizers, (recipe.matrix_rate, recipe.other_rate), strict=True):
        one.learning_rate = rate * share


def _keep(net: nn.Module, optimizer: Any, recipe: Recipe, progress: Progress, folder: Path) -> None:
    import mlx.core as mx
    from mlx.utils import tree_flatten

    folder.mkdir(parents=True, exist_ok=True)
    flat: Any = [*tree_flatten({"net": net.parameters(), "optimizer": optimizer.state})]
    written = folder / "new.safetensors"
    state = {"recipe": repr(recipe), "progress": asdict(progress)}
    mx.save_safetensors(str(written), dict(flat), metadata={"state": json.dumps(state)})
    # one step, so that a stop in between leaves the last checkpoint whole
    written.replace(folder / LAST)


def _resume(net: nn.Module, optimizer: Any, recipe: Recipe, folder: Path) -> Progress:
    import mlx.core as mx
    from mlx.utils import tree_unflatten

    path = folder / LAST
    if not path.is_file():
        return Progress()
    loaded: Any = mx.load(str(path), return_metadata=True)
    arrays, metadata = loaded
    state = json.loads(metadata["state"])
    if state["recipe"] != repr(recipe):
        return Progress()
    tree: Any = tree_unflatten(list(arrays.items()))
    net.update(tree["net"])
    optimizer.state = tree["optimizer"]
    return Progress(**state["progress"])
