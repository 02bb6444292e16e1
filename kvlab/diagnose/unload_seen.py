"""What was seen after an unload: whether the model left the list, whether the process that held it ended, and whether the readings had settled.

Settled: two equal readings one after the other, or `SETTLE_S` seconds, of the same processes. A list that is empty while the old process lives is not
released. An unload is where a model leaves the list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kvlab.probe.changes import SETTLE_S
from kvlab.recording.facts.samples import Sample
from kvlab.units import MIB


@dataclass(frozen=True, slots=True)
class UnloadSeen:
    """One unload and what followed.

    Attributes:
        left: The models that left the list.
        listed_again: Those of them that are listed at the end; None when the list was not read then.
        before: The last sample with the model listed.
        after: The last sample before another load.
        waited_s: Seconds from the unload to it.
        settled: `two equal readings`, `time` or `no`.
        old_pids: The processes that held models before.
        alive_pids: Those of them that live at the end.
    """

    left: frozenset[str]
    listed_again: frozenset[str] | None
    before: Sample
    after: Sample
    waited_s: float
    settled: str
    old_pids: tuple[int, ...]
    alive_pids: tuple[int, ...]

    @property
    def left_behind(self) -> bool:
        """Whether a process that held the model lives; of several models' processes those of the others live on."""
        return bool(self.alive_pids) and not (len(self.before.models or ()) > 1 and len(self.alive_pids) < len(self.old_pids))


def unload_seen(samples: Sequence[Sample], *, timed: bool = True) -> UnloadSeen | None:
    """Return the last unload of some samples; None when no model left the list.

    Args:
        samples: In order.
        timed: Their seconds are those at which they were taken; outputs pasted one after another have none, and what a person pasted had settled.
    """
    # the moment is not known closer than the two samples around it
    places = [place for place in range(1, len(samples)) if (was := samples[place - 1].models) and (now := samples[place].models) is not None and was - now]
    if not places:
        return None
    before, after = samples[places[-1] - 1], _until_loaded(samples[places[-1] :])
    end, since = after[-1], after[0].t
    left = (before.models or frozenset()) - (after[0].models or frozenset())
    # what was pasted without its processes was not searched for them
    with_processes = next((one for one in reversed(after) if one.pids), end)
    alive = before.pids & with_processes.pids if not timed else before.pids & end.pids
    if not timed and not before.pids:
        earlier = next((one.pids for one in reversed(samples[: places[-1]]) if one.pids), frozenset[int]())
        # a process that was started with a model holds it, also when it was first seen after the unload
        earlier = earlier or (with_processes.pids if with_processes.named else frozenset[int]())
        before_pids, alive = earlier, earlier & with_processes.pids
    else:
        before_pids = before.pids
    return UnloadSeen(
        left=left,
        listed_again=None if end.models is None else left & end.models,
        before=before,
        after=end,
        waited_s=end.t - since,
        settled=_settled(after, since) if timed else "time",
        old_pids=tuple(sorted(before_pids)),
        alive_pids=tuple(sorted(alive)),
    )


def _until_loaded(after: Sequence[Sample]) -> list[Sample]:
    """Return the samples up to the one in which a new process is there: what follows is of the next load."""
    first = after[0].pids
    kept = [after[0]]
    for sample in after[1:]:
        if sample.pids - first and sample.models:
            break
        kept.append(sample)
    return kept


def _settled(after: list[Sample], since: float) -> str:
    if len(after) > 1 and after[-1].equals(after[-2], MIB):
        return "two equal readings"
    return "time" if after[-1].t - since >= SETTLE_S and len(after) > 1 else "no"
