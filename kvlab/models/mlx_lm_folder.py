"""Loads what mlx-lm itself can load: a local folder, or an id on the Hugging Face hub."""

# pyright: standard
from __future__ import annotations

from pathlib import Path
from typing import Any

from kvlab.errors import BadValue, KvlabError, NotAvailable, UnreadableInput
from kvlab.models import precision
from kvlab.models.loaded import Loaded
from kvlab.models.tokens import WrappedTokenizer


def load_folder(folder: Path, dtype: str) -> Loaded:
    """Load the model in `folder` (config.json, safetensors, tokenizer) with weights as `dtype`.

    Raises:
        UnreadableInput: the folder holds no model that can be read.
        BadValue: mlx-lm does not know its architecture.
    """
    if not (folder / "config.json").is_file():
        raise UnreadableInput(
            what=f"{folder} is not a model's folder",
            why="it has no config.json" if folder.is_dir() else "there is no such folder",
            hint="give a folder with config.json, *.safetensors and a tokenizer",
        )
    return _load(str(folder), dtype, {"file": folder.name})


def load_id(name: str, dtype: str) -> Loaded:
    """Load the model `name` (owner/model) from the hub, or from the hub's own cache folder when it was loaded before.

    Raises:
        NotAvailable: it is not here and the hub cannot be reached, or it needs a permission.
        BadValue: there is no such model, or mlx-lm does not know its architecture.
        UnreadableInput: its files cannot be read.
    """
    return _load(name, dtype, {"file": name})


def _load(name: str, dtype: str, origin: dict[str, str]) -> Loaded:
    import mlx.core as mx
    from mlx_lm import load

    try:
        # lazily, so that another number type does not need both copies at once
        loaded: Any = load(name, lazy=True, return_config=True)
    except Exception as error:
        raise _load_error(name, error) from error
    net, wrapper, config = loaded
    if dtype != "stored" or not precision.on_gpu():
        # packed integers stay; scales and plain weights change, and with them the activations
        net.set_dtype(precision.activations(dtype))
    mx.eval(net.parameters())
    quantised = "quantization" in config
    described = {"dtype": f"{dtype} activations, quantised weights" if quantised else dtype}
    return Loaded(net=net, tokenizer=WrappedTokenizer(wrapper), context=_context(config), origin=origin | described)


def _context(config: dict[str, Any]) -> int:
    text = config.get("text_config", config)
    return int(text.get("max_position_embeddings") or config.get("max_position_embeddings") or 0)


def _load_error(name: str, error: Exception) -> KvlabError:
    """Return `error` of mlx-lm or the hub's client as an error with a hint."""
    from huggingface_hub import errors

    why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if isinstance(error, errors.GatedRepoError):
        return NotAvailable(what=f"{name} needs a permission", why=why, hint="ask for it on the model's page, then log in with the hub's client")
    if isinstance(error, errors.RepositoryNotFoundError):
        return BadValue(what=f"the hub has no model {name!r}", why=why, hint="correct the name: owner/model")
    if isinstance(error, (errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled, errors.HfHubHTTPError, ConnectionError)) or _is_network(error):
        return NotAvailable(
            what=f"{name} is not on this machine and could not be downloaded",
            why=why,
            hint="connect to the network once and try again, or give a local folder",
        )
    if isinstance(error, ValueError):
        return BadValue(what=f"{name} cannot be loaded", why=why, hint="give a model of an architecture that mlx-lm knows")
    return UnreadableInput(what=f"{name} cannot be read", why=why, hint="get its files anew, or give another model")


def _is_network(error: Exception) -> bool:
    # the hub's client has changed its HTTP library before
    return type(error).__module__.partition(".")[0] in ("httpx", "httpx2", "httpcore", "httpcore2", "requests")
