"""Published experiments made again on the twin: a row a published figure, with ours, the difference and a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kvlab.studies.reproduce import cold_ladder, growth, layer_bytes, restored
from kvlab.studies.reproduce.published import Published, published, unknown
from kvlab.studies.reproduce.result import Made, Part, Reproduction

__all__ = ["MAKERS", "Reproduction", "names_of", "reproduce"]

MAKERS: dict[str, Callable[[Published], Made]] = {
    "A1": growth.fifteen,
    "A2": growth.sixty,
    "A3": growth.agent,
    "B": cold_ladder.make,
    "C1": restored.another_answer,
    "D4": growth.fifty_turns,
    "D7": layer_bytes.merges,
    "D9": layer_bytes.pool,
    "E1": growth.by_context,
    "E2": growth.reloaded,
    "17783": growth.one_question,
    "17924": growth.short_prompts,
    "18267": restored.follow_ups,
    "states": layer_bytes.states,
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
