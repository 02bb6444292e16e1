"""What does not change while events come: what is shown, its policy and its layer groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kvlab.lab.source import Source
from kvlab.views.spans_rows import group_labels


@dataclass(frozen=True, slots=True)
class About:
    """What does not change while events come.

    Attributes:
        title: What is shown.
        policy: The choices of the cache; {} when they are not known.
        groups: A row a layer group: label, kind, layers, bytes_per_token, state_bytes, window, growth_step.
        shape: What the model keeps, as `Shape.to_dict`; {} when it is not known.
        source: lab, twin, or an importer.
        left_out: What was not recorded, as in `Manifest.left_out`.
    """

    title: str
    policy: Mapping[str, Any]
    groups: tuple[Mapping[str, Any], ...]
    shape: Mapping[str, Any]
    source: str = ""
    left_out: tuple[str, ...] = ()

    @classmethod
    def of(cls, title: str, policy: Mapping[str, Any], shape: Mapping[str, Any], source: str = "", left_out: tuple[str, ...] = ()) -> About:
        """Return it for a shape as `Shape.to_dict` gives it ({} when it is not known)."""
        labels = group_labels(dict(shape))
        groups: list[Mapping[str, Any]] = list(shape.get("groups", []))
        kept = ("kind", "bytes_per_token", "state_bytes", "window", "growth_step")
        rows = tuple({"label": labels[at], "layers": len(group["layers"])} | {name: group.get(name, 0) for name in kept} for at, group in enumerate(groups))
        return cls(title, policy, rows, shape, source, left_out)


def about_source(source: Source) -> About:
    """Return what is known of a Lab or a Twin from its name, its policy and its shape."""
    return About.of(source.name, source.policy.to_dict(), source.shape.to_dict(), source.source)
