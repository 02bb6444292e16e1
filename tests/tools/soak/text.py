"""A soak as text: in how many trials each sign showed, then what failed and how to see it again."""

from __future__ import annotations

import json

from tests.tools.soak.known import MUST, NEVER, expected
from tests.tools.soak.signs import SIGNS
from tests.tools.soak.soaking import Failure, Soak

_WIDTH = 6
_MOST_SHOWN = 4


def as_text(found: Soak) -> str:
    """Return a soak as lines for a terminal."""
    lines = [line for failure in found.failures[:_MOST_SHOWN] for line in _failure(found, failure)]
    more = [_headline(found, failure) for failure in found.failures[_MOST_SHOWN:]]
    return "\n".join([*_table(found), "", *_missing(found), *lines, *more, _verdict(found)])


def _table(found: Soak) -> list[str]:
    signs = [sign for sign in SIGNS if not sign.by_design]
    lines = ["trials in which each defect of the catalogue showed (. = none, as it must be; blank = nothing to show it on)"]
    lines.append(f"{'version':9}{'layers':14}{'trials':>{_WIDTH}}" + "".join(f"{sign.id:>{_WIDTH}}" for sign in signs))
    for (version, layer_set), counts in found.shown.items():
        row = f"{version:9}{layer_set:14}{found.trials[version, layer_set]:{_WIDTH}}"
        for sign in signs:
            known = expected(sign, version, layer_set)
            cell = str(counts[sign.id]) + ("" if known == MUST else "!") if known in (MUST, NEVER) and (counts[sign.id] or known == MUST) else ""
            row += f"{cell or ('.' if known == NEVER else ''):>{_WIDTH}}"
        lines.append(row.rstrip())
    by_design = ", ".join(f"{sign.id} ({sign.name})" for sign in SIGNS if sign.by_design)
    return [*lines, f"by design, in every version: {by_design}"]


def _missing(found: Soak) -> list[str]:
    lines = [f"{version}, {layer_set}: {', '.join(ids)} did not show" for (version, layer_set), ids in found.missing.items()]
    if lines and not found.failures:
        lines.append("with few operations that may be chance: run more")
    return lines


def _failure(found: Soak, failure: Failure) -> list[str]:
    data = failure.to_dict()
    return [
        _headline(found, failure),
        f"  layers {failure.plan.shape.name}, policy {json.dumps(data['policy'])}, the shortest requests that still do so:",
        *(f"  {json.dumps(request)}" for request in data["requests"]),
        "",
    ]


def _headline(found: Soak, failure: Failure) -> str:
    broken = failure.broken
    where = f"{failure.version} on {failure.layer_set}, seed {found.seed}, trial {failure.trial}"
    return f"FAILED {where}: {broken.rule} in request {broken.request}: {broken.message}"


def _verdict(found: Soak) -> str:
    rate = found.operations / found.seconds if found.seconds else 0.0
    verdict = "passed: each version shows exactly its known defects" if found.passed else "failed"
    return f"{verdict}; {found.operations:,} operations with seed {found.seed} in {found.seconds:.1f} s ({rate:.0f} a second)"
