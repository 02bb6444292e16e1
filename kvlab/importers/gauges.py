"""What importers call the figures they read, and which bytes each of them is: `gauges.toml`. A table's own headings may add others.

Resident bytes, footprint, SIZE and the allocator's active bytes are four different numbers: a gauge is never renamed into another one.
"""

from __future__ import annotations

import tomllib
from importlib.resources import files

_TABLE: dict[str, dict[str, str]] = tomllib.loads(files("kvlab.importers").joinpath("gauges.toml").read_text(encoding="utf-8"))

GAUGES: dict[str, str] = {name: meaning for kind in _TABLE.values() for name, meaning in kind.items()}
"""The meaning of each gauge."""

OF_BYTES = frozenset(_TABLE["bytes"])
OF_WORDS = frozenset(_TABLE["words"])
