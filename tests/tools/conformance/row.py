"""One row of the conformance table: an architecture's net and every check."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from kvlab.errors import KvlabError
from kvlab.models import random_net
from tests.tools.conformance import snapshots
from tests.tools.conformance.checks import CHECKS
from tests.tools.conformance.subject import Differs, Subject

FAILED = "failed"


def row(architecture: str, config: Mapping[str, Any], needed: Iterable[str], vocabulary: int) -> dict[str, Any]:
    """Build the net, run every check, and return the row; figures have one digit, so that a table does not change with the weather."""
    answer: dict[str, Any] = {"architecture": architecture, "result": "ok", "caches": None, **dict.fromkeys(CHECKS)}
    try:
        subject = Subject(random_net.build(architecture, config, needed), architecture, vocabulary)
        answer["caches"] = classes(subject.fresh())
    # whatever an architecture raises is its row's reason; one leaves the interpreter when a package is missing
    except (Exception, SystemExit) as error:  # noqa: BLE001
        answer["result"] = reason(error)
        return answer
    for name, check in CHECKS.items():
        try:
            said = check(subject)
            answer[name] = float(f"{said:.0e}") if isinstance(said, float) else said
        except Exception as error:  # noqa: BLE001  see above
            answer[name] = FAILED
            if answer["result"] == "ok":
                answer["result"] = f"{name}: {reason(error)}"
            if name == "forward":
                break
    return answer


def classes(caches: Sequence[Any]) -> str:
    """Return the cache classes in layer order, such as `3xArraysCache[2] + 1xKVCache`."""
    return " + ".join(f"{len(list(alike))}x{name}" for name, alike in groupby(snapshots.described(cache) for cache in caches))


def reason(error: BaseException) -> str:
    """Return an error as a row has it: in one line."""
    if isinstance(error, KvlabError):
        return error.what
    words = " ".join(str(error).split())
    if isinstance(error, Differs | random_net.BadConfig):
        return words
    return f"{type(error).__name__}: {words}" if words else type(error).__name__
