"""What answers say of marks: each task of a contamination test has one that no other has.

An answer that is another task's, or holds its mark, came from another prompt's state. One that only lacks its own mark may have forgotten it.
A table tells it in the columns `nonce_ok` and `answer_of`, a probe in the gauges `own_mark` and `foreign_marks`.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from kvlab.probe.marks import FOREIGN_MARKS, OWN_MARK
from kvlab.recording import Recording

TABLE_OWN, ANSWER_OF = "nonce_ok", "answer_of"

_NO = ("false", "no", "0")


@dataclass(frozen=True, slots=True)
class MarksTold:
    """The answers of one recording.

    Attributes:
        requests: The requests of whose answers something is told.
        without_own: Those whose answer lacks its own mark.
        foreign: Of those whose answer is another task's: the request, its own label, and whose it is; "" where that is not told.
    """

    requests: tuple[int, ...]
    without_own: tuple[int, ...]
    foreign: tuple[tuple[int, str, str], ...]


def marks_told(recording: Recording) -> MarksTold | None:
    """Return what answers say of marks; None when nobody looked."""
    rows = recording.observed.filter(pl.col("gauge").is_in([OWN_MARK, FOREIGN_MARKS, TABLE_OWN, ANSWER_OF]) & (pl.col("request") > 0))
    if not rows.height:
        return None
    labels = dict(recording.requests.select("request", "label").iter_rows())
    requests, lacks, foreign = set[int](), set[int](), dict[int, tuple[int, str, str]]()
    for request, gauge, number, words in rows.select("request", "gauge", "number", "words").iter_rows():
        own = str(labels.get(request) or "")
        if gauge == ANSWER_OF:
            if words and own and words != own:
                foreign[request] = (request, own, words)
            continue
        requests.add(request)
        if gauge == FOREIGN_MARKS:
            if number:
                foreign[request] = (request, own, "")
        elif number == 0 or str(words or "").lower() in _NO:
            lacks.add(request)
    # whose an answer is stands beside the mark: without one it may be any column of that name
    told = tuple(one for request, one in sorted(foreign.items()) if request in requests and (request in lacks or not one[2]))
    return MarksTold(tuple(sorted(requests)), tuple(sorted(lacks)), told) if requests else None
