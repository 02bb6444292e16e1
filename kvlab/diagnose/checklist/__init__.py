"""The checklist of a server that does not give its bytes back: what is known, what is missing, the command that fills it, and the decision.

`items` holds the list as data, `known_from` what a recording answers of it, `decision` what follows, `checklist` the whole as an object.
"""

from __future__ import annotations

from kvlab.diagnose.checklist.decision import DECISIONS
from kvlab.diagnose.checklist.filled import Checklist, checklist
from kvlab.diagnose.checklist.items import ITEMS, Item

__all__ = ["DECISIONS", "ITEMS", "Checklist", "Item", "checklist"]
