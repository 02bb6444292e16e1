"""What two recordings can be compared by, when one of them saw the trie only at the ends of requests, as dumps of a log show it.

The reduction of a table of intervals: a row is there after a request if it is alive right after the event that closed it. Rows that are equal in all
columns but `born` and `died`, after consecutive requests, are one row, from the first of these requests up to, not including, the one after which it is gone
(None while it is alive). What was born and died between two closes is not in it, nor is a version that was there again at the next close.
"""

from __future__ import annotations

from itertools import groupby
from typing import Any

import polars as pl

from kvlab.recording import Recording

Row = tuple[Any, ...]


def closes(recording: Recording) -> list[int]:
    return recording.events.filter(pl.col("kind") == "request_closed").get_column("seq").to_list()


def after_requests(table: pl.DataFrame, seqs: list[int]) -> list[Row]:
    """The rows of `nodes` or `spans`, with the places in `seqs` (from 0) of the requests after which they first stand and first do not."""
    there: dict[Row, set[int]] = {}
    for row in table.rows(named=True):
        key = tuple(value for name, value in row.items() if name not in ("born", "died"))
        there.setdefault(key, set()).update(place for place, seq in enumerate(seqs) if row["born"] <= seq and (row["died"] is None or row["died"] > seq))
    reduced: list[Row] = []
    for key, places in there.items():
        for _, run in groupby(enumerate(sorted(places)), lambda one: one[1] - one[0]):
            first, *_, last = [place for _, place in run] * 2
            reduced.append((*key, first, None if last + 1 == len(seqs) else last + 1))
    return sorted(reduced, key=lambda row: tuple((value is not None, value) for value in row))
