"""Random requests under every check, on every layer set and version. Each version must show exactly its known defects."""

from tests.tools.soak.soaking import OPERATIONS, Failure, Soak, soak
from tests.tools.soak.text import as_text

__all__ = ["OPERATIONS", "Failure", "Soak", "as_text", "soak"]
