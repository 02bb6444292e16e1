"""A runner that lives though no look ever listed a model: it was unloaded before anybody looked and is left behind, or is about to load."""

from __future__ import annotations

from kvlab.diagnose.finding import Evidence, Finding
from kvlab.diagnose.looks import Look, looks
from kvlab.events import ProcessSeen
from kvlab.probe.changes import MUCH, SETTLE_S
from kvlab.recording import Recording
from kvlab.units import binary


def unlisted_runner(recording: Recording, question: str) -> Finding | None:
    """Return what such a runner means for an unload; None when a model was listed, or no child of the server holds much."""
    seen = looks(recording)
    if not seen or any(look.models is None or look.models for look in seen):
        return None
    last, children = seen[-1], _children(recording)
    pids = sorted(last.pids & children)
    if not pids or (last.held or 0) < MUCH:
        return None
    since = _since(seen, frozenset(pids))
    stays = last.t - since >= SETTLE_S
    who = f"process {', '.join(map(str, pids))}, which the server started, lives and holds {binary(last.held or 0)}"
    judged = (
        f"It has for {last.t - since:.0f} s: what was loaded before is not released. Ending the process gives it back."
        if stays
        else "It may be on its way out, about to load, or left behind: look for longer, kvlab probe --watch 15."
    )
    return Finding(
        question=question,
        verdict="process_left_behind" if stays else "not_settled",
        summary=f"No model is listed, and {who}. {judged}",
        numbers={"is_forecast": "no", "alive_pids": pids, "process_held_bytes": last.held, "watched_s": round(last.t - since, 1)},
        confidence="medium" if stays else "low",
        evidence=(Evidence("looks", ({"t": last.t, "listed": [], "pids": pids, "footprint": last.held},)),),
        refuted_by="a later look in which the process is gone, or its model is listed",
    )


def _children(recording: Recording) -> frozenset[int]:
    """Return the processes that another one that was seen started."""
    rows = recording.events.filter(kind=ProcessSeen.kind).select("pid", "ppid").unique()
    known = set(rows.get_column("pid"))
    return frozenset(pid for pid, ppid in rows.iter_rows() if ppid in known)


def _since(seen: list[Look], pids: frozenset[int]) -> float:
    since = seen[-1].t
    for look in reversed(seen):
        if not pids <= look.pids:
            break
        since = look.t
    return since
