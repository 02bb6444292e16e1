"""D7: what merges consume is held until the next sweep, or goes as it is consumed (qwen3.8:27b, a second 84k-token prompt)."""

from __future__ import annotations

from kvlab.studies.reproduce.peak_levels import Level, levels
from kvlab.studies.reproduce.published import Published
from kvlab.studies.reproduce.result import Aside, Made
from kvlab.studies.reproduce.run import made
from kvlab.units import GB

ARMS = {"sweep": "D7:before", "scopes": "D7"}
"""The experiment's arms: the rules around the change are those of the last release with sweeps."""


def make(published: Published) -> Made:
    """Run the two prompts in both arms."""
    del published
    arms = {name: _levels(name) for name in ARMS}
    sweep, scopes = (arms[name][1] for name in ARMS)
    figures = {
        "ratio": sweep.total / scopes.total,
        "peak_sweep": sweep.total / GB,
        "peak_scopes": scopes.total / GB,
        "held_copies": (sweep.total - scopes.total) / GB,
        "cold_path": (arms["sweep"][0].total - arms["scopes"][0].total) / GB,
    }
    rows = tuple(
        (f"{name}, prompt {place + 1}", *(f"{one / GB:.2f}" for one in (level.weights, level.live, level.snapshots, level.waiting, level.total)))
        for name, both in arms.items()
        for place, level in enumerate(both)
    )
    return Made(figures, (Aside("the highest level, GB", ("arm", "weights", "live", "snapshots", "waiting for a sweep", "all"), rows),))


def _levels(lifetimes: str) -> list[Level]:
    return [one for one in levels(made(ARMS[lifetimes])) if one.request]
