"""Random requests under every check, on every layer set and version. Each version must show exactly its known defects."""

from tests.tools.soak.text import as_text
from tests.tools.soak.trial import OPERATIONS, Failure, Soak, soak

__all__ = ["OPERATIONS", "Failure", "Soak", "as_text", "soak"]
