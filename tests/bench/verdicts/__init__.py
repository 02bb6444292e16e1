"""How often the verdict on figures seen from outside is right: seeded series without and with a leak, judged as a user's would be."""

from __future__ import annotations

from tests.bench.verdicts.confusion import Confusion, as_text, measure

__all__ = ["Confusion", "as_text", "measure"]
