"""A case's `expected` held against a run: `figures` says what each key means, `judged` which keys were judged and what differs."""

from __future__ import annotations

from kvlab.diagnose.cases.figures import Seen
from kvlab.diagnose.cases.judged import Judged, judge, nothing_judged, seen_of

__all__ = ["Judged", "Seen", "judge", "nothing_judged", "seen_of"]
