"""A trained model's card: what it is, what it learned, how well, and the digests of its files.

Every figure of the card is measured on the files as they are shipped: float16 weights, loaded as float32.
"""

from __future__ import annotations

import hashlib
import math
import os
import platform
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from kvlab import shipped
from kvlab.models.loaded import Loaded
from tests.tools.training import continue_text, net, text
from tests.tools.training.loop import Progress
from tests.tools.training.recipes import Recipe

FILE = "card.json"

SLICE_BYTES = 16_384
"""The first so many held-out bytes are the slice that a test measures again."""

CURVE_EVERY = 100

PROMPTS = ("Alice was not a bit", "It was a fine evening, and Catherine", "The ship ")
QUESTIONS = ("Do you like dancing?", "What did you see in the garden?", "Who are you?")

LICENCE = "MIT, as this project; the text it learned is in the public domain"


def card(recipe: Recipe, loaded: Loaded, progress: Progress, folder: Path, blas: str) -> dict[str, Any]:
    """Return the card of the model in `folder`, as JSON holds it.

    Args:
        recipe: How it was trained.
        loaded: The model, loaded again from `folder` as float32.
        progress: The training's losses and seconds.
        folder: Its files.
        blas: Which matrix product MLX used.
    """
    return {
        "name": recipe.name,
        "title": recipe.title,
        "licence": LICENCE,
        "parameters": net.parameters(loaded.net),
        "tokens": "257: one a byte, and <end>, which ends a reply of the assistant and a chapter",
        "losses": _losses(loaded),
        "samples": samples(loaded),
        "text": _text(),
        "training": _training(recipe, progress),
        "versions": {name: metadata.version(name) for name in ("mlx", "mlx-lm", "numpy")} | {"python": platform.python_version()},
        "machine": {"system": f"{platform.system()} {platform.machine()}", "cpus": os.cpu_count(), "device": "cpu", "blas": blas},
        "files": {path.name: _file(path) for path in sorted(folder.iterdir()) if path.name != FILE},
    }


def samples(loaded: Loaded) -> list[dict[str, Any]]:
    """Return what the model makes of `PROMPTS`, greedily and by chance, and of `QUESTIONS` as a chat."""
    made: list[dict[str, Any]] = []
    for prompt in PROMPTS:
        tokens = loaded.tokenizer.encode(prompt)
        made.append({"prompt": prompt, "how": "greedy", "text": continue_text.greedily(loaded, tokens, 160)})
        made.append({"prompt": prompt, "how": _how(0), "text": continue_text.by_chance(loaded, tokens, 240, seed=0)})
    for question in QUESTIONS:
        tokens = loaded.tokenizer.chat([("user", question)])
        made.append({"message": question, "how": _how(0), "text": continue_text.by_chance(loaded, tokens, 240, seed=0)})
    return made


def _how(seed: int) -> str:
    return f"temperature {continue_text.TEMPERATURE}, seed {seed}"


def _losses(loaded: Loaded) -> dict[str, Any]:
    read = text.read()
    held_out = read.held_out_bytes
    trained = _spread("\n\n".join(read.trained).encode(), len(held_out) // net.WINDOW)
    return {
        "how": f"mean over windows of {net.WINDOW} bytes that begin from nothing, the first byte of each not judged",
        "trained": _loss(loaded, trained),
        "held_out": _loss(loaded, held_out),
        "held_out_slice": _loss(loaded, held_out[:SLICE_BYTES]),
    }


def _spread(what: bytes, windows: int) -> bytes:
    """Return so many windows of `what`, evenly spread: every book has its share."""
    begins = (window * (len(what) - net.WINDOW) // windows for window in range(windows))
    return b"".join(what[begin : begin + net.WINDOW] for begin in begins)


def _loss(loaded: Loaded, what: bytes) -> dict[str, float]:
    nats = net.loss(loaded.net, list(what))
    return {"bytes": len(what), "nats_per_byte": round(nats, 4), "bits_per_byte": round(nats / math.log(2), 4)}


def _text() -> dict[str, Any]:
    read = text.read()
    return {
        "file": text.FILE,
        "sha256": _file(shipped.data(text.FILE))["sha256"],
        "unpacked_sha256": text.SHA256,
        "licence": "public domain",
        "trained_chapters": len(read.trained),
        "held_out_chapters": len(read.held_out),
        "held_out": f"of every {text.HELD_OUT_OF} chapters number {text.HELD_OUT_AT + 1}",
        "held_out_sha256": hashlib.sha256(read.held_out_bytes).hexdigest(),
    }


def _training(recipe: Recipe, progress: Progress) -> dict[str, Any]:
    return {
        "command": f"python -m tests.tools.train_tiny {recipe.name}",
        "seed": recipe.seed,
        "steps": recipe.steps,
        "tokens": recipe.tokens,
        "phases": [{"steps": phase.steps, "rows": phase.rows, "length": phase.length} for phase in recipe.phases],
        "chat_share": recipe.chat_share,
        "optimizer": f"Muon {recipe.matrix_rate} for matrices, AdamW {recipe.other_rate} for the rest, half cosine",
        "seconds": round(progress.seconds),
        "cpu_seconds": round(progress.cpu_seconds),
        "loss_curve_nats": {str(end): _mean(progress.losses[end - CURVE_EVERY : end]) for end in range(CURVE_EVERY, recipe.steps + 1, CURVE_EVERY)},
    }


def _mean(losses: Sequence[float]) -> float:
    return round(sum(losses) / len(losses), 4)


def _file(path: Path) -> dict[str, Any]:
    return {"bytes": path.stat().st_size, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
