"""`kvlab soak`: random requests under every check, on every layer set and version. Each version must show exactly its known defects."""

from kvlab.studies.soak.text import as_text
from kvlab.studies.soak.trial import OPERATIONS, Failure, Soak, soak

__all__ = ["OPERATIONS", "Failure", "Soak", "as_text", "soak"]
