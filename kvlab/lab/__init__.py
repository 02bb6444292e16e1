"""Lab and Twin: run a workload, step a request, on real arrays or on span counts."""

from kvlab.lab.shapes import open_twin
from kvlab.lab.source import Source
from kvlab.lab.twin import Twin, expected_policy

__all__ = ["Source", "Twin", "expected_policy", "open_twin"]
