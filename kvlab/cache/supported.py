"""Which choices this version's engine follows; it refuses the others rather than run something else under their name."""

from __future__ import annotations

from kvlab.errors import BadValue
from kvlab.policy import Policy

_ONLY: dict[str, tuple[str, ...]] = {
    "store": ("trie",),
}


def require_supported(policy: Policy) -> None:
    """Check that the engine follows every choice of `policy`.

    Raises:
        BadValue: it does not; the field, the value and the values it follows are named.
    """
    for field, names in _ONLY.items():
        if (value := getattr(policy, field)) not in names:
            raise _refused(field, value, " or ".join(names))


def _refused(field: str, value: str, follows: str) -> BadValue:
    return BadValue(
        what=f"the policy asks for {field}={value}",
        why=f"this version's engine follows {field}={follows} only",
        hint=f"leave {field} as it is in upstream main, or set single choices on top of it",
    )
