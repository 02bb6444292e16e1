"""What was seen after an unload: whether the model left the list, whether the process that held it ended, and whether the readings had settled.

Settled: two equal readings one after the other, or `SETTLE_S` seconds, of the same processes. A list that is empty while the old process lives is not
released. An unload is where a model leaves the list; one that a probe asked for is judged by what the probe saw (outside/unload_proved.py).
"""

from __future__ import annotations

from dataclasses import dataclass

from kvlab.diagnose.looks import Look, looks
from kvlab.probe.changes import SETTLE_S
from kvlab.recording import Recording
from kvlab.units import MIB


@dataclass(frozen=True, slots=True)
class UnloadSeen:
    """One unload and what followed.

    Attributes:
        verdict: all_but_process_base, not_settled, still_loaded or process_left_behind.
        why: In words, what decided.
        before: The last look with the model listed.
        after: The last look before another load.
        waited_s: Seconds from the unload to it.
        settled: `two equal readings`, `time` or `no`.
        old_pids: The processes that held models before.
        alive_pids: Those of them that live at the end.
    """

    verdict: str
    why: str
    before: Look
    after: Look
    waited_s: float
    settled: str
    old_pids: tuple[int, ...]
    alive_pids: tuple[int, ...]


def unload_seen(recording: Recording) -> UnloadSeen | None:
    """Return the last unload of a recording; None when no model left the list."""
    seen = looks(recording)
    begun = _unlisted(seen)
    # the moment is not known closer than the two looks around it
    return None if begun is None else _judged(seen[begun - 1], _until_loaded(seen[begun:]))


def _unlisted(seen: list[Look]) -> int | None:
    """Return the place of the last look in which a model is missing from the list that was there before."""
    places = [place for place in range(1, len(seen)) if (before := seen[place - 1].models) and (now := seen[place].models) is not None and before - now]
    return places[-1] if places else None


def _until_loaded(after: list[Look]) -> list[Look]:
    """Return the looks up to the one in which a new process is there: what follows is of the next load."""
    first = after[0].pids
    kept = [after[0]]
    for look in after[1:]:
        if look.pids - first and look.models:
            break
        kept.append(look)
    return kept


def _judged(before: Look, after: list[Look]) -> UnloadSeen:
    end, since = after[-1], after[0].t
    settled, alive = _settled(after, since), before.pids & end.pids
    left = (before.models or frozenset()) - (after[0].models or frozenset())
    # of several models' processes those of the others live on
    still = bool(alive) and not (len(before.models or ()) > 1 and len(alive) < len(before.pids))
    if end.models is None:
        verdict, why = "not_settled", "the list of models was not read at the end"
    elif left & end.models:
        verdict, why = "still_loaded", f"{', '.join(sorted(left & end.models))} is listed again"
    elif settled == "no":
        verdict, why = "not_settled", _SOON
    elif still:
        verdict, why = "process_left_behind", "no longer listed, and the process that held it lives"
    else:
        gone = ", ".join(map(str, sorted(before.pids - end.pids)))
        verdict, why = (
            "all_but_process_base",
            f"no longer listed; {f'process {gone} is gone' if gone else 'no process of it was seen, so only the list says so'}",
        )
    return UnloadSeen(verdict, why, before, end, end.t - since, settled, tuple(sorted(before.pids)), tuple(sorted(alive)))


_SOON = "neither two equal readings nor 5 s have passed since"


def _settled(after: list[Look], since: float) -> str:
    if len(after) > 1 and after[-1].equals(after[-2], MIB):
        return "two equal readings"
    return "time" if after[-1].t - since >= SETTLE_S and len(after) > 1 else "no"
