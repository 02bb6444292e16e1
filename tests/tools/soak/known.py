"""What is known of each version: which signs must show on a layer set, and which never may. It follows from the policy's own choices.

The tests hold a second table, written from the facts alone, against this one.
"""

from __future__ import annotations

from kvlab.policy import Policy
from tests.tools.soak.layer_sets import kinds
from tests.tools.soak.signs import SIGNS, Sign

VERSIONS = ("0.30.7", "0.30.8", "0.32.1", "0.32.7", "0.33.0", "main")
"""The versions that are soaked, oldest first: one for each rule set there was, and upstream main."""

MUST, NEVER, APART, DESIGN = "must", "never", "not applicable", "by design"
"""What a table says of a sign: it must show, it never may, it has nothing to show on, every version does so and it must show."""


def expected(sign: Sign, version: str, layer_set: str) -> str:
    """Return what is known of a sign under a version on a layer set: one of the four words above."""
    if VERSIONS.index(version) < VERSIONS.index(sign.since) or not _has_what_it_needs(sign, layer_set):
        return APART
    if sign.by_design:
        return DESIGN
    return MUST if _makes(sign, Policy.ollama(version)) else NEVER


def takes_media(version: str) -> bool:
    """Whether a version accepts media items at all."""
    return VERSIONS.index(version) >= VERSIONS.index(_MEDIA.since)


def must_show(version: str, layer_set: str) -> frozenset[str]:
    """Return the ids that must show."""
    return frozenset(sign.id for sign in SIGNS if expected(sign, version, layer_set) in (MUST, DESIGN))


def never_may(version: str, layer_set: str) -> frozenset[str]:
    """Return the ids that never may show."""
    return frozenset(sign.id for sign in SIGNS if expected(sign, version, layer_set) == NEVER)


def _has_what_it_needs(sign: Sign, layer_set: str) -> bool:
    has = kinds(layer_set)
    return not (sign.any_of and not sign.any_of & has) and not sign.none_of & has


def _makes(sign: Sign, policy: Policy) -> bool:
    hidden = any(getattr(policy, name) == value for name, value in sign.hidden_by.items())
    return not hidden and all(getattr(policy, name) == value for name, value in sign.made_by.items())


_MEDIA = next(sign for sign in SIGNS if "media" in sign.made_by)
