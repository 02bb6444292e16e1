"""Which shape a twin takes: the one on the command line, else the case's own or the experiment's, else the embedded model's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvlab.workloads import Workload

if TYPE_CHECKING:
    from kvlab.lab import Twin

USUAL = "smollm2"


def open_twin(workload: Workload, shape: str | None = None, layers: str | None = None) -> Twin:
    """Open the twin that a workload runs on; `layers` are kinds with commas between them, at unit prices.

    Raises:
        KvlabError: the shape or a kind is not known.
    """
    import kvlab

    if layers is not None:
        return kvlab.twin([kind.strip() for kind in layers.split(",")])
    if shape is not None:
        return kvlab.twin(shape)
    return kvlab.twin(workload.shape or workload.shape_name or USUAL)
