"""Single published figures that a model's layers alone give: a sliding-window checkpoint, a token of full attention."""

from __future__ import annotations

from kvlab.studies.reproduce.models import kv_per_token, sliding26
from kvlab.studies.reproduce.published import Published
from kvlab.studies.reproduce.result import Made
from kvlab.units import KIB, MIB


def make(published: Published) -> Made:
    """Compute both."""
    del published
    return Made(
        {
            "gemma4_26b_checkpoint": sliding26().state_bytes / MIB,
            "kv36_per_token": kv_per_token(layers=36, heads=8, width=128) / KIB,
        }
    )
