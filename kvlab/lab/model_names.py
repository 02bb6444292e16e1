"""From the name a server gives a model to a shipped shape: `qwen3.8:27b-mlx` is `qwen3.8-27b`."""

from __future__ import annotations

import re

from kvlab.lab.shapes import shipped_names

_PARTS = re.compile(r"[:/\s_-]+")
_OF_FILES = re.compile(r"^(?:mlx|community|latest|instruct|it|chat|gguf|fp16|bf16|fp32|\d+bit|q\d.*|int\d|k|m|s|nvfp4|mxfp\d)$")


def shipped_for(model: str) -> str | None:
    """Return the shipped shape whose name has every part of a server's name for a model; None when there is none.

    Parts that name files and number types do not count. Of several names the shortest is taken.
    """
    wanted = _parts(model.rsplit("/", 1)[-1])
    fitting = [name for name in shipped_names() if wanted and wanted <= _parts(name)]
    return min(fitting, key=len, default=None)


def _parts(name: str) -> frozenset[str]:
    return frozenset(part for part in _PARTS.split(name.lower()) if part and not _OF_FILES.match(part))
