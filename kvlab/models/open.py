"""Opens a model by name: a known one, a local folder, or an id that mlx-lm loads."""

from __future__ import annotations

import difflib
import hashlib
import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kvlab import shipped
from kvlab.errors import BadValue, NotAvailable, UnreadableInput
from kvlab.models import blas, caches, gguf_gemma3, gguf_llama, gguf_tokenizer, precision, tiny
from kvlab.models.fetch import fetch
from kvlab.models.known import KNOWN
from kvlab.models.loaded import Loaded
from kvlab.models.mlx_lm_folder import load_folder, load_id
from kvlab.models.mlx_model import MLXModel
from kvlab.models.packaged import KnownModel

if TYPE_CHECKING:
    from mlx import nn
from kvlab.models.tokens import WrappedTokenizer

HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
"""The form of an id on the hub: owner/model."""

BYTES = tuple(bytes((byte,)) for byte in range(256))
"""The bytes of each token of a shipped net's byte tokenizer; tokens above are marks without text."""


def open_model(name: str, *, accept_licence: bool = False, dtype: str | None = None, kv_bits: int = 0) -> MLXModel:
    """Open a model and its live buffers.

    Args:
        name: `smollm2` (embedded), `tiny-hybrid` or `tiny-sliding` (shipped), `random-conv` (random weights), `gemma3-270m` (opt-in), a local folder,
            or an id with a slash that mlx-lm loads.
        accept_licence: Accept the licence of a model that needs it.
        dtype: float32, float16, bfloat16 or stored; None for this machine's default.
        kv_bits: Bits a number of the keys and values takes in the live buffers: 8, 4 or 2, as mlx-lm quantises them; 0 for as computed.

    Raises:
        BadValue: the name or the dtype is unknown, or `kv_bits` is none of these.
        NotAvailable: no network on first use, a licence not accepted, or layers that cannot be restored yet.
        UnreadableInput: a file has the wrong checksum or cannot be read, or the cache folder cannot be written.
    """
    if name == tiny.RANDOM_CONV:
        return tiny.random_conv()
    loaded = load_net(name, accept_licence=accept_licence, dtype=dtype)

    def again() -> nn.Module:
        return load_net(name, accept_licence=accept_licence, dtype=dtype).net

    if not kv_bits:
        return MLXModel(name, loaded.net, loaded.tokenizer, context=loaded.context, origin=loaded.origin, again=again)
    origin = loaded.origin | {"kv_bits": str(kv_bits)}
    return MLXModel(name, loaded.net, loaded.tokenizer, context=loaded.context, origin=origin, caches=partial(caches.quantised, bits=kv_bits), again=again)


def load_net(name: str, *, accept_licence: bool = False, dtype: str | None = None) -> Loaded:
    """Load a model's net and tokenizer without a prefix cache around them; arguments and errors as in `open_model`."""
    kind = precision.resolve(dtype)
    model = KNOWN.get(name)
    if model is not None:
        _require_licence(model, accepted=accept_licence)
    elif not _is_path(name) and not HUB_ID.fullmatch(name):
        raise _unknown(name)
    used = blas.route().used
    if model is not None:
        loaded = _known(model, kind)
    elif _is_path(name):
        loaded = load_folder(Path(name).expanduser(), kind)
    else:
        loaded = load_id(name, kind)
    if used.endswith(("openblas32", "openblas")):
        from kvlab.models import one_row

        one_row.split(loaded.net)
    origin = {"dtype": kind, "device": precision.device(), "blas": used} | loaded.origin
    return Loaded(net=loaded.net, tokenizer=loaded.tokenizer, context=loaded.context, origin=origin)


def _known(model: KnownModel, dtype: str) -> Loaded:
    origin = {"file": model.file.name, "sha256": model.file.sha256, "licence": model.licence.name}
    if model.reader == "shipped_net":
        loaded = _shipped(model, dtype)
        return Loaded(net=loaded.net, tokenizer=loaded.tokenizer, context=loaded.context, origin=loaded.origin | origin)
    origin |= {"package": model.file.parts[0].package, "version": model.file.parts[0].version}
    if model.reader == "gguf_gemma3":
        folder = gguf_gemma3.converted(model.file)
        loaded = load_folder(folder, dtype)
        return Loaded(net=loaded.net, tokenizer=loaded.tokenizer, context=loaded.context, origin=loaded.origin | origin)
    read = gguf_llama.load(fetch(model.file), dtype)
    return Loaded(net=read.net, tokenizer=gguf_tokenizer.build(read.metadata), context=read.context, origin=origin)


def _shipped(model: KnownModel, dtype: str) -> Loaded:
    """Load a net that kvlab carries in `data/`: weights, config.json and a byte tokenizer."""
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


def _require_licence(model: KnownModel, *, accepted: bool) -> None:
    """Raise NotAvailable unless `model`'s licence needs no acceptance, or was accepted by argument or environment."""
    licence = model.licence
    if not licence.accept_env or accepted or os.environ.get(licence.accept_env) == "1":
        return
    raise NotAvailable(
        what=f"{model.title} comes under the {licence.name}, which have not been accepted",
        why=f"whoever uses the model is bound by them; read them at {licence.where}",
        hint=f"if you accept them, pass accept_licence=True or set {licence.accept_env}=1",
    )


def _is_path(name: str) -> bool:
    return name.startswith((".", "/", "~")) or Path(name).is_dir()


def _unknown(name: str) -> BadValue:
    known = ", ".join(KNOWN)
    near = difflib.get_close_matches(name.lower(), KNOWN, n=1, cutoff=0.4)
    meant = f"did you mean {near[0]}?" if near else "use one of these"
    return BadValue(
        what=f"there is no model {name!r}",
        why=f"the known models are {known}; a local folder and an id with a slash (owner/model) work too",
        hint=meant,
    )
