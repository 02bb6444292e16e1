"""Imports mlx-lm's nets without the rest of the package: its own start also imports converters and tokenizers, which take a second."""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from types import ModuleType

PACKAGE = "mlx_lm"


def import_nets_alone() -> None:
    """Let `mlx_lm.models` be imported without `mlx_lm` itself having run. Does nothing when it has, or is not installed."""
    if PACKAGE in sys.modules:
        return
    spec = find_spec(PACKAGE)
    if spec is not None:
        bare: ModuleType = module_from_spec(spec)
        sys.modules[PACKAGE] = bare
