"""The models that a recording names, and when two names are of one model."""

from __future__ import annotations

import polars as pl

from kvlab.recording import Recording

UNKNOWN = ("", "unknown")


def models_named(recording: Recording) -> tuple[str, ...]:
    """Return the models that a recording's events name, else its manifest's; none when it names none."""
    found: list[str] = []
    if "model" in recording.events.columns:
        found = [str(name) for name in recording.events.filter(pl.col("model").is_not_null())["model"].unique(maintain_order=True)]
    named = tuple(name for name in found if name not in UNKNOWN)
    return named or tuple(name for name in (recording.manifest.model,) if name not in UNKNOWN)


def short_name(model: str) -> str:
    """Return a name without what a server may leave out: the registry, `library/` and the tag `latest`."""
    last = model.lower().rpartition("/")[2]
    return last.removesuffix(":latest")
