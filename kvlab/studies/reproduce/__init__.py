"""Published experiments made again on the twin: a row a published figure, with ours, the difference and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kvlab.studies.reproduce import answers, cold_ladder, growth, merges, pool, rate, restores, series, states, turns
from kvlab.studies.reproduce.published import Published, published, unknown
from kvlab.studies.reproduce.result import Made, Part, Reproduction

__all__ = ["MAKERS", "Reproduction", "names_of", "reproduce"]

MAKERS: dict[str, Callable[[Published], Made]] = {
    "A1": growth.fifteen,
    "A2": growth.sixty,
    "A3": growth.agent,
    "B": cold_ladder.make,
    "C1": answers.make,
    "D4": turns.table,
    "D7": merges.make,
    "D9": pool.make,
    "E1": series.make,
    "17783": turns.gemma,
    "17924": rate.make,
    "18267": restores.make,
    "states": states.make,
}
"""What makes each experiment, by its name, in the order in which they are shown."""


def names_of(name: str | None) -> tuple[str, ...]:
    """Return the experiments that a name means: the one of that name, all when there is none, those that begin with it for a letter (`A`).

    Raises:
        BadValue: there is none of that name.
    """
    if name is None:
        return tuple(MAKERS)
    wanted = name.lower().removeprefix("#")
    found = tuple(one for one in MAKERS if one.lower() == wanted) or tuple(one for one in MAKERS if wanted.isalpha() and one[:-1].lower() == wanted)
    if not found:
        raise unknown(name, (*MAKERS, "conformance"))
    return found


def reproduce(names: Iterable[str], each: Callable[[], object] = lambda: None) -> Reproduction:
    """Make the named experiments again. `each` is called after every one.

    Raises:
        BadValue: there is no experiment of that name.
        UnreadableInput: the published figures are damaged.
    """
    parts: list[Part] = []
    for name in names:
        found = published(name)
        parts.append(Part.of(found, MAKERS[name](found)))
        each()
    return Reproduction(tuple(parts))
