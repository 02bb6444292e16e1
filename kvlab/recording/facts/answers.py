"""Answers: the marks of a contamination test, in which each task has one that no other has.

An answer that is another task's, or holds its mark, came from another prompt's state. One that only lacks its own mark may have forgotten it.
A table has them in the columns `nonce_ok` and `answer_of`, a probe in the gauges `own_mark` and `foreign_marks`.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

OWN_MARK, FOREIGN_MARKS = "own_mark", "foreign_marks"
"""Gauges: whether an answer holds all of its own mark, and of how many other marks it holds a part."""

TABLE_OWN, ANSWER_OF = "nonce_ok", "answer_of"

_NO = ("false", "no", "0")


@dataclass(frozen=True, slots=True)
class Answers:
    """The answers of one recording.

    Attributes:
        requests: The requests whose answers were searched for marks.
        without_own: Those whose answer lacks its own mark.
        foreign: Of those whose answer is another task's: the request, its own label, and whose it is; "" where that was not recorded.
    """

    requests: tuple[int, ...]
    without_own: tuple[int, ...]
    foreign: tuple[tuple[int, str, str], ...]


def answers_of(observed: pl.DataFrame, requests: pl.DataFrame) -> Answers | None:
    """Return what was recorded of answers; None when none was searched."""
    rows = observed.filter(pl.col("gauge").is_in([OWN_MARK, FOREIGN_MARKS, TABLE_OWN, ANSWER_OF]) & (pl.col("request") > 0))
    if not rows.height:
        return None
    labels = dict(requests.select("request", "label").iter_rows())
    searched, lacks, foreign = set[int](), set[int](), dict[int, tuple[int, str, str]]()
    for request, gauge, number, words in rows.select("request", "gauge", "number", "words").iter_rows():
        own = str(labels.get(request) or "")
        if gauge == ANSWER_OF:
            if words and own and words != own:
                foreign[request] = (request, own, words)
            continue
        searched.add(request)
        if gauge == FOREIGN_MARKS:
            if number:
                foreign[request] = (request, own, "")
        elif number == 0 or str(words or "").lower() in _NO:
            lacks.add(request)
    # whose an answer is counts only where its mark was searched: without one it may be any column of that name
    found = tuple(one for request, one in sorted(foreign.items()) if request in searched and (request in lacks or not one[2]))
    return Answers(tuple(sorted(searched)), tuple(sorted(lacks)), found) if searched else None
