"""Loads a model that kvlab itself carries: a folder in `data/` with weights, config.json and a byte tokenizer. Nothing is fetched."""

from __future__ import annotations

import hashlib

from kvlab import shipped
from kvlab.errors import UnreadableInput
from kvlab.models.loaded import Loaded
from kvlab.models.mlx_lm_folder import load_folder
from kvlab.models.packaged import KnownModel
from kvlab.models.tokens import WrappedTokenizer

BYTES = tuple(bytes((byte,)) for byte in range(256))
"""What each token stands for; tokens above are marks and stand for no text."""


def load(model: KnownModel, dtype: str) -> Loaded:
    """Load the shipped `model` with weights as `dtype`.

    Raises:
        NotAvailable: this installation has no such file.
        UnreadableInput: its weights have the wrong checksum.
    """
    path = shipped.data(model.file.name)
    if hashlib.sha256(path.read_bytes()).hexdigest() != model.file.sha256:
        raise UnreadableInput(
            what=f"data/{model.file.name} has the wrong checksum",
            why=f"its SHA-256 should be {model.file.sha256}",
            hint="get the file anew: install kvlab again, or check it out",
        )
    loaded = load_folder(path.parent, dtype)
    tokenizer = WrappedTokenizer(loaded.tokenizer.wrapper, BYTES)
    return Loaded(net=loaded.net, tokenizer=tokenizer, context=loaded.context, origin=loaded.origin)
