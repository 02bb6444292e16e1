"""Question 6: is the answer right after a hit? A restored position is right if the request that wrote it shares all tokens up to there.

Only a checked recording can tell: `kvlab check`, or a run of the twin with `check=True`. Without it an answer that reads well proves nothing; one
that is another task's, by the marks of a contamination test, shows that a wrong state was restored.
"""

from __future__ import annotations

import polars as pl

from kvlab.diagnose.finding import Evidence, Finding, Number, not_enough_data
from kvlab.diagnose.marks_told import MarksTold, marks_told
from kvlab.events import Violation, WrongPositions
from kvlab.recording import Recording

QUESTION = "is_the_answer_right"
MOST_ROWS = 12
"""Rows of evidence at most."""

_CHECK = "Run `kvlab check` on the same workload, or twin.run(..., check=True)."


def was_checked(recording: Recording) -> bool:
    """Return whether every restored position was checked: the run of the twin says so, or it found something.

    On real arrays nobody knows which request wrote a position, so a run of the lab is never taken for checked.
    """
    if not recording.events.filter(pl.col("kind") == WrongPositions.kind).is_empty():
        return True
    found = not recording.events.filter(pl.col("kind") == Violation.kind).is_empty()
    return recording.manifest.source == "twin" and (found or recording.manifest.checked)


def is_the_answer_right(recording: Recording, *, checked: bool | None = None) -> Finding:
    """Answer whether what was restored is what the requests would have computed. `checked` overrides what the recording says of itself."""
    if not (was_checked(recording) if checked is None else checked):
        marks = marks_told(recording)
        return not_enough_data(QUESTION, "Nobody checked the restored positions.", _CHECK) if marks is None else _of_marks(marks)
    wrong = recording.events.filter(pl.col("kind") == WrongPositions.kind).select("seq", "request", "group", "layer", "start", "end", "belongs_to")
    restored = recording.requests.select(pl.col("cached").fill_null(0)).to_series()
    requests = wrong.get_column("request").unique().sort().to_list()
    numbers: dict[str, Number] = {
        "requests": recording.requests.height,
        "restored_tokens": int(restored.sum()),
        "wrong_positions": int((wrong.get_column("end") - wrong.get_column("start")).sum()),
        "requests_with_wrong_positions": len(requests),
        "first_wrong_request": requests[0] if requests else None,
        "belongs_to_request": wrong.item(0, "belongs_to") if requests else None,
    }
    if requests:
        first = wrong.row(0, named=True)
        summary = (
            f"Request {first['request']} restored positions [{first['start']}, {first['end']}) of {first['layer'] or 'a layer'} that request "
            f"{first['belongs_to']} had overwritten; {len(requests)} of {numbers['requests']} requests are affected."
        )
    else:
        summary = f"All {numbers['restored_tokens']} restored tokens were written by requests that share every token up to there."
    return Finding(
        question=QUESTION,
        verdict="wrong_state_restored" if requests else "identical",
        summary=summary,
        numbers=numbers,
        confidence="low" if recording.damaged else "high",
        evidence=(Evidence("events", tuple(wrong.head(MOST_ROWS).to_dicts())),),
        refuted_by="the same requests with copy_before_overwrite=every_append still restoring those positions wrong"
        if requests
        else "a restored position whose contents another request wrote",
    )


def _of_marks(marks: MarksTold) -> Finding:
    count, wrong = len(marks.requests), marks.foreign
    if not wrong:
        lacks = len(marks.without_own)
        told = (
            f"{lacks} of {count} answers lack their own task's mark" if lacks else f"Nobody checked the restored positions; all {count} answers hold their mark"
        )
        record = f"Record whose answer each one is, and the same prompts asked of a fresh server. {_CHECK}" if lacks else _CHECK
        return not_enough_data(QUESTION, f"{told}.", record)
    request, own, other = wrong[0]
    whose = f"is that of task {other}, not of its own {own}" if other else "holds the mark of another task"
    numbers: dict[str, Number] = {
        "answers_with_marks": count,
        "wrong_answers": len(wrong),
        "answers_without_own_mark": len(marks.without_own),
        "first_wrong_request": request,
    }
    rows = tuple({"request": one, "task": mine, "answer_of": theirs or None} for one, mine, theirs in wrong[:MOST_ROWS])
    return Finding(
        question=QUESTION,
        verdict="wrong_state_restored",
        summary=f"{len(wrong)} of {count} answers are another task's: the answer to request {request} {whose}. No position was checked: {_CHECK}",
        numbers=numbers,
        confidence="medium",
        evidence=(Evidence("observed", rows),),
        refuted_by="the same answers to the same prompts from a server that was just started, one after another",
    )
