"""A tiny config for every architecture of mlx-lm 0.32.2, as data: the smallest sizes that still show all its kinds of layers.

`COMMON` fills what a config leaves out, also inside its `text_config`; an architecture reads of it only what it knows. Every field written in `CONFIGS` itself
must be known to the architecture. Of layers that repeat there is one of each kind. One file holds the architectures of one kind of cache.
"""

from __future__ import annotations

from typing import Any

from tests.tools.conformance.configs.attention import ATTENTION
from tests.tools.conformance.configs.common import COMMON, VOCABULARY
from tests.tools.conformance.configs.recurrent import RECURRENT
from tests.tools.conformance.configs.several_caches import SEVERAL_CACHES
from tests.tools.conformance.configs.windows import WINDOWS

__all__ = ["CONFIGS", "VOCABULARY", "config"]

CONFIGS: dict[str, dict[str, Any]] = dict(sorted((ATTENTION | WINDOWS | SEVERAL_CACHES | RECURRENT).items()))
"""By architecture, as mlx-lm names its modules: what differs from `COMMON`."""


def config(architecture: str) -> dict[str, Any]:
    """Return the whole config of an architecture, as a `config.json` would hold it."""
    own = CONFIGS[architecture]
    whole = {"model_type": architecture} | COMMON | own
    if "text_config" in own:
        whole["text_config"] = {"model_type": architecture} | COMMON | own["text_config"]
    return whole
