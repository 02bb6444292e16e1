"""Catalogue: what is known of the models that a server serves, without loading them, in the words of Ollama's API."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from kvlab import shipped
from kvlab.errors import BadValue
from kvlab.models.known import KNOWN
from kvlab.serve.messages import Ready

STARTED = datetime.now(UTC).isoformat()

_WEIGHTS = ("*.safetensors", "*.gguf")


def served_names(given: Sequence[str]) -> dict[str, str]:
    """Return the names under which models are served, and how each is opened; without any, those that need no licence's acceptance.

    A folder is served under its own name.

    Raises:
        BadValue: two have the same name, or one has none.
    """
    found: dict[str, str] = {}
    for model in given or [name for name, known in KNOWN.items() if not known.licence.accept_env]:
        name = model if model in KNOWN or not _folder(model) else Path(model).expanduser().resolve().name
        if not name or name in found:
            raise BadValue(what=f"{model!r} would be served as {name!r}", why="each model needs a name of its own", hint="name each model once")
        found[name] = model
    return found


def details(model: str, ready: Ready | None = None) -> dict[str, Any]:
    """Return the `details` of a model: its format, its family, how its weights are held."""
    family = str(_config(model).get("model_type", "")) or {"gguf_llama": "llama", "gguf_gemma3": "gemma3"}.get(_reader(model), "")
    return {
        "parent_model": "",
        "format": "gguf" if _reader(model).startswith("gguf") else "safetensors",
        "family": family,
        "families": [family] if family else [],
        "parameter_size": "",
        "quantization_level": "" if ready is None else str(ready.origin.get("dtype", "")).upper(),
    }


def digest(model: str) -> str:
    """Return the SHA-256 of a known model's file, or of the name of one whose file is not known."""
    known = KNOWN.get(model)
    return known.file.sha256 if known is not None else hashlib.sha256(model.encode()).hexdigest()


def file_bytes(model: str) -> int:
    """Return the bytes of a model's weights as they are stored; 0 of one whose files are not known."""
    place = _place(model)
    if place is not None:
        return sum(path.stat().st_size for pattern in _WEIGHTS for path in place.glob(pattern))
    known = KNOWN.get(model)
    return sum(part.download_bytes for part in known.file.parts) if known is not None else 0


def listed(name: str, model: str) -> dict[str, Any]:
    """Return a model's entry of `/api/tags`."""
    return {"name": name, "model": name, "modified_at": STARTED, "size": file_bytes(model), "digest": digest(model), "details": details(model)}


def shown(model: str, ready: Ready | None) -> dict[str, Any]:
    """Return a model's answer of `/api/show`; what only its loaded runner knows is there once it is loaded."""
    known, config = KNOWN.get(model), _config(model)
    family = details(model)["family"] or "unknown"
    context = ready.context if ready is not None else int(config.get("max_position_embeddings", 0) or 0)
    info: dict[str, Any] = {"general.architecture": family}
    if context:
        info[f"{family}.context_length"] = context
    return {
        "modelfile": f"FROM {model if known is not None or not _folder(model) else Path(model).name}\n",
        "parameters": "",
        "template": "",
        "license": known.licence.name if known is not None else "",
        "details": details(model, ready),
        "model_info": info,
        "capabilities": ["completion", *(["tools"] if ready is not None and ready.tools else [])],
        "modified_at": STARTED,
    }


def _reader(model: str) -> str:
    known = KNOWN.get(model)
    return known.reader if known is not None else ""


def _folder(model: str) -> bool:
    return bool(re.match(r"[./~]", model)) or Path(model).is_dir()


def _place(model: str) -> Path | None:
    if _reader(model) == "shipped_net":
        return shipped.data(KNOWN[model].file.name).parent
    return Path(model).expanduser() if model not in KNOWN and _folder(model) else None


def _config(model: str) -> dict[str, Any]:
    place = _place(model)
    try:
        found: Any = json.loads((place / "config.json").read_text(encoding="utf-8")) if place is not None else {}
    except (OSError, ValueError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
