"""Monitor: takes samples, records them and what changed, reads on in the log, and waits until a reading has settled."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from kvlab.events import Event
from kvlab.probe.changes import SETTLE_S, Changes
from kvlab.probe.log_tail import inside_a_request
from kvlab.probe.processes import Process
from kvlab.probe.sample import Sample, Sampler, sample_events
from kvlab.probe.writer import EventWriter

POLL_S = 0.5
"""Seconds between two samples while something settles. The list of an MLX model is refreshed by the call itself, with a wait of 50 ms at most."""


class Monitor:
    """Takes samples of a server and records them.

    Attributes:
        last: The last sample; None before the first.
    """

    def __init__(self, sampler: Sampler, writer: EventWriter, log_events: Callable[[], list[Event]], *, own_requests: bool) -> None:
        self._sampler = sampler
        self._writer = writer
        self._changes = Changes()
        self._log_events = log_events
        # a log's requests are the workload's during a run; during a watch they are other clients'
        self._own_requests = own_requests
        self.last: Sample | None = None

    def knows_left_behind(self, process: Process) -> bool:
        """Return whether a sign that `process` was left behind is recorded."""
        return process in self._changes.left_behind

    def sample(self, requests: Iterable[int] = (0,)) -> Sample:
        """Take one sample and record it, as that of the last of `requests`, which just ended."""
        numbers = tuple(requests)
        sample = self._sampler.take()
        self._write_changes(sample, numbers)
        self._write_sample(sample, numbers)
        return sample

    def settled(self, requests: Iterable[int] = (0,)) -> Sample:
        """Take samples until two are equal, or until `SETTLE_S` have passed; the last one is recorded as that of the last of `requests`."""
        numbers = tuple(requests)
        first = before = self._sampler.take()
        self._write_changes(first, numbers)
        begun, same = first.at, True
        while True:
            self._writer.clock.wait(POLL_S)
            now = self._sampler.take()
            self._write_changes(now, numbers)
            equal, waited = now.equals(before), now.at - begun
            same = same and now.family.holders == first.family.holders
            silent = now.models is None and before.models is None
            if equal or silent or waited >= SETTLE_S:
                break
            before = now
        self._write_stale(first, now, numbers)
        settled = equal or (same and now.models is not None)
        words = "two equal readings" if equal else "the server does not return its list" if silent else "time passed without two equal readings"
        self._writer.sign("settled" if settled else "not_settled", words, numbers[-1], seconds=waited)
        self._write_sample(now, numbers)
        return now

    def _write_changes(self, sample: Sample, numbers: tuple[int, ...]) -> None:
        number = numbers[0] if len(numbers) == 1 else 0
        events = self._log_events()
        if self._own_requests:
            self._writer.write(*inside_a_request(events), request=number)
        else:
            for event in events:
                self._writer.write(event, request=event.request)
        self._writer.write(*self._changes.see(sample), request=number)

    def _write_sample(self, sample: Sample, numbers: tuple[int, ...]) -> None:
        # after requests that ran at once it is recorded once, as the last one's: copies would read as a series that does not grow
        self._writer.write(*sample_events(sample, self.last), request=numbers[-1])
        self.last = sample

    def _write_stale(self, first: Sample, now: Sample, numbers: tuple[int, ...]) -> None:
        if first.family.holders != now.family.holders:
            return
        for model, size in first.sizes.items():
            later = now.sizes.get(model, size)
            if size is not None and later is not None and size != later:
                words = f"the list reported {size} B, then {later} B, and no request was sent between"
                self._writer.sign("stale_size", words, numbers[-1], model=model, seconds=now.at - first.at)
