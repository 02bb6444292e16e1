"""The probe of a live server: what it lists, what its processes hold, what the machine has left, and what a workload does to them."""

from __future__ import annotations

from kvlab.probe.probe import Probe
from kvlab.probe.rows import request_rows, sample_rows, sign_rows

__all__ = ["Probe", "request_rows", "sample_rows", "sign_rows"]
