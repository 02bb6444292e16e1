"""The ledger of bytes: who retains what, compared with the allocator's own count."""

from kvlab.allocator.ledger import Ledger
from kvlab.allocator.meter import Meter, Reading

__all__ = ["Ledger", "Meter", "Reading"]
