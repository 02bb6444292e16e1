"""Looking: takes samples, tells them and what changed, reads on in the log, and waits until a reading has settled."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kvlab.events import Event, LifeSign
from kvlab.probe.changes import SETTLE_S, Changes
from kvlab.probe.clock import Clock
from kvlab.probe.imported import inside_a_request
from kvlab.probe.processes import Process
from kvlab.probe.sample import Sample, Sampler, sample_events
from kvlab.probe.telling import Teller

POLL_S = 0.5
"""Seconds between two looks while something settles. The list of an MLX model is refreshed by the call itself, with a wait of 50 ms at most."""


class Looking:
    """What a probe sees, in order.

    Attributes:
        last: The last sample; None before the first.
    """

    def __init__(self, sampler: Sampler, teller: Teller, clock: Clock, log_events: Callable[[], list[Event]], *, own_requests: bool) -> None:
        self._sampler = sampler
        self._teller = teller
        self._clock = clock
        self._changes = Changes()
        self._log_events = log_events
        # a log's requests are our own when we ask; when we only look on, it tells of others'
        self._own_requests = own_requests
        self.last: Sample | None = None

    def knows_left_behind(self, process: Process) -> bool:
        """Return whether it was told of `process` that it was left behind."""
        return process in self._changes.left_behind

    def look(self, requests: Iterable[int] = (0,)) -> Sample:
        """Look once and tell it, as that of the last of `requests`, which just ended."""
        sample = self._taken()
        self._tell(sample, requests)
        return sample

    def settled(self, requests: Iterable[int] = (0,)) -> Sample:
        """Look until two readings are equal, or until `SETTLE_S` have passed; the last one is told as that of the last of `requests`."""
        numbers = tuple(requests)
        first = before = self._taken()
        self._tell_changes(first, numbers)
        begun, same = first.at, True
        while True:
            self._clock.wait(POLL_S)
            now = self._taken()
            self._tell_changes(now, numbers)
            equal, waited = now.equals(before), now.at - begun
            same = same and now.family.holders == first.family.holders
            silent = now.models is None and before.models is None
            if equal or silent or waited >= SETTLE_S:
                break
            before = now
        self._tell_stale(first, now, numbers)
        settled = equal or (same and now.models is not None)
        words = "two equal readings" if equal else "the server does not tell its list" if silent else "time passed without two equal readings"
        self._teller.tell(LifeSign(state="settled" if settled else "not_settled", seconds=waited, message=words), request=numbers[-1])
        self._tell_sample(now, numbers)
        return now

    def _taken(self) -> Sample:
        return self._sampler.take()

    def _tell(self, sample: Sample, requests: Iterable[int]) -> None:
        numbers = tuple(requests)
        self._tell_changes(sample, numbers)
        self._tell_sample(sample, numbers)

    def _tell_changes(self, sample: Sample, numbers: tuple[int, ...]) -> None:
        number = numbers[0] if len(numbers) == 1 else 0
        self._tell_log(number)
        self._teller.tell(*self._changes.see(sample), request=number)

    def _tell_log(self, number: int) -> None:
        events = self._log_events()
        if self._own_requests:
            self._teller.tell(*inside_a_request(events), request=number)
        else:
            for event in events:
                self._teller.tell(event, request=event.request)

    def _tell_sample(self, sample: Sample, numbers: tuple[int, ...]) -> None:
        # of requests that ran at once it is told once, as the last one's: copies would look like a series that stays where it is
        self._teller.tell(*sample_events(sample, self.last), request=numbers[-1])
        self.last = sample

    def _tell_stale(self, first: Sample, now: Sample, numbers: tuple[int, ...]) -> None:
        if first.family.holders != now.family.holders:
            return
        for model, size in first.sizes.items():
            later = now.sizes.get(model, size)
            if size is not None and later is not None and size != later:
                words = f"the list told {size} B, then {later} B, and nothing was asked between"
                self._teller.tell(LifeSign(state="stale_size", model=model, seconds=now.at - first.at, message=words), request=numbers[-1])
