"""Fit: whether one more model has room while others are loaded, by the policy's choice `fit`. All figures are bytes.

Upstream compares a model's tensors with what its own runners leave of the GPU's working set; since September 2026 also with what the system has free,
since other programs take of the same bytes on a machine whose CPU and GPU share them (F-30). What grows after a load is not covered by either.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import psutil

from kvlab.units import MIB

KEPT_FREE = 512 * MIB
"""Bytes that upstream keeps free on a GPU."""


@dataclass(frozen=True, slots=True)
class MachineBytes:
    """A machine's bytes.

    Attributes:
        working_set: What models may take together: the GPU's recommended working set, or all there is.
        free: What the system can give without swapping.
    """

    working_set: int
    free: int


def machine_bytes() -> MachineBytes:
    """Read this machine's bytes. The GPU's working set is known to runners only, so it is taken to be all of the machine."""
    read = psutil.virtual_memory()
    return MachineBytes(read.total, read.available)


def room(fit: Literal["system_bound", "working_set"], machine: MachineBytes, held: int) -> int:
    """Return the bytes that one more model may take while other runners hold `held`."""
    left = machine.working_set - held
    if fit == "system_bound":
        left = min(left, machine.free)
    return max(0, left - KEPT_FREE)
