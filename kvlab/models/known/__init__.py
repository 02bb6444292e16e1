"""The models that kvlab opens by a short name: plain data, one file a model."""

from __future__ import annotations

from kvlab.models.known import gemma3_270m, smollm2, tiny_hybrid, tiny_sliding
from kvlab.models.packaged import KnownModel

KNOWN: dict[str, KnownModel] = {model.name: model for model in (smollm2.MODEL, tiny_hybrid.MODEL, tiny_sliding.MODEL, gemma3_270m.MODEL)}
"""Every known model by its short name."""
