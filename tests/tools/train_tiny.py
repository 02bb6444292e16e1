"""Train one of the two tiny models that kvlab ships, and write its folder and card.

    python -m tests.tools.train_tiny tiny-hybrid
    python -m tests.tools.train_tiny tiny-sliding --out tiny-sliding

Everything comes from the shipped text and a seed. A run takes about a quarter of an hour on two cores, uses no more than one of
them where OPENBLAS_NUM_THREADS=1, and goes on from its last checkpoint when it was stopped.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from kvlab import cache_folder, shipped
from kvlab.errors import KvlabError
from kvlab.models import blas
from kvlab.models.mlx_lm_folder import load_folder
from tests.tools.training import card, loop, net, text
from tests.tools.training.recipes import RECIPES
from tests.tools.training.windows import Windows


def main(words: Sequence[str] | None = None) -> int:
    """Train the model named on the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="Train a tiny model from the shipped text.")
    parser.add_argument("name", choices=RECIPES)
    parser.add_argument("--out", type=Path, help="the model's folder (data/NAME)")
    parser.add_argument("--checkpoints", type=Path, help="where a stopped training is gone on from (the cache folder)")
    given = parser.parse_args(words)
    try:
        _train(given.name, given.out or shipped.data() / given.name, given.checkpoints or cache_folder.folder() / "training" / given.name)
    except KvlabError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def _train(name: str, out: Path, checkpoints: Path) -> None:
    recipe = RECIPES[name]
    used = blas.route().used
    fresh = net.build(recipe)
    windows = Windows(text.read().trained, chat_share=recipe.chat_share, seed=recipe.seed)
    progress = loop.train(fresh, recipe, windows, checkpoints)
    net.save(fresh, recipe, out)
    # the card tells of the files, so they are read back
    made = card.card(recipe, load_folder(out, "float32"), progress, out, used)
    (out / card.FILE).write_text(json.dumps(made, indent=2) + "\n")
    (checkpoints / loop.LAST).unlink(missing_ok=True)
    losses = made["losses"]
    print(f"{name}: {made['parameters']:,} parameters, {losses['held_out']['bits_per_byte']:.3f} bits a byte held out")


if __name__ == "__main__":
    sys.exit(main())
