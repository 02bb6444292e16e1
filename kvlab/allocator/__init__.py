"""The ledger of bytes: who retains what, beside what the allocator itself counts."""

from kvlab.allocator.ledger import Ledger
from kvlab.allocator.meter import Meter, Reading

__all__ = ["Ledger", "Meter", "Reading"]
