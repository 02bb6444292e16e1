"""How large a workload may be. Larger ones are refused before a request is made, so that no number makes kvlab work without bound."""

from __future__ import annotations

from kvlab.errors import BadValue
from kvlab.workloads.case_fields import Fields
from kvlab.workloads.streams import STREAM_TOKENS

MOST_REQUESTS = 1_000_000
"""Requests of a workload at most: some 80 times the longest public trace. Each takes about 1 KB as a Python object, so these take 1 GB."""

MOST_TOKENS = 2**26
"""Tokens that a case gives at most, prompts and replies together: as Python numbers they take about 2.5 GiB."""

_COUNTS = ("prefix_tokens", "unique_tokens", "generated_tokens")
_OTHER_COUNTS = ("reply_rerendered_tokens", "drop_tail_tokens", "keep_reply_tokens", "cancel_after_tokens", "score_shared")


def require_count(name: str, given: str, usual: int) -> int:
    """Return the number of requests that a workload's name gives, digits only, such as `15` of `unrelated:15`.

    Raises:
        BadValue: it is more than `MOST_REQUESTS`.
    """
    digits = given.lstrip("0") or "0"
    # compared by its length first: Python refuses to read a number of thousands of digits
    if len(digits) > len(str(MOST_REQUESTS)) or int(digits) > MOST_REQUESTS:
        raise BadValue(
            what=f"{name}:{digits if len(digits) < 40 else digits[:37] + '...'} has too many requests",
            why=f"a workload has at most {MOST_REQUESTS:,}",
            hint=f"write for example {name}:{usual}",
        )
    return int(digits)


class Room:
    """The requests and tokens that a case has left; each row takes its part before any of its requests is made."""

    __slots__ = ("_requests", "_tokens")

    def __init__(self) -> None:
        self._requests = MOST_REQUESTS
        self._tokens = MOST_TOKENS

    def take(self, row: Fields) -> int:
        """Return the number of requests of a row.

        Raises:
            BadValue: a count of the row is too large, or the case's rows so far are; file, row, field and value are named.
        """
        times = row.count("repeat", 1, least=1)
        if times > self._requests:
            raise row.bad("repeat", f"a case has at most {MOST_REQUESTS:,} requests, {self._requests:,} of them from here on", "use fewer")
        for name in (*_COUNTS, *_OTHER_COUNTS):
            if row.count(name) > STREAM_TOKENS:
                raise row.bad(name, f"a part of a prompt or a reply has at most {STREAM_TOKENS:,} tokens", "use a shorter one")
        longest = max(_COUNTS, key=row.count)
        tokens = times * sum(row.count(name) for name in _COUNTS)
        if tokens > self._tokens:
            why = f"with {times:,} requests of the row this makes {tokens:,} tokens; a case has at most {MOST_TOKENS:,}, {self._tokens:,} of them from here on"
            raise row.bad(longest, why, "use fewer or shorter requests")
        self._requests -= times
        self._tokens -= tokens
        return times
