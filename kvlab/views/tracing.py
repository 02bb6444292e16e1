"""Record what one cell does: every event of a lab's or twin's requests inside a `with`, and the dashboard of them.

Invariant: the lab is as before afterwards; prompts and replies are not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from kvlab.cache.present import present
from kvlab.events import Event
from kvlab.lab.source import Source
from kvlab.recording import Manifest, Recording


@dataclass(slots=True)
class Traced:
    """What happened.

    Attributes:
        source: The lab or twin.
        before: What its cache held before.
        events: What happened since; a run begins with an empty cache, so it begins them anew.
    """

    source: Source
    before: list[Event]
    events: list[Event] = field(default_factory=list[Event])

    def recording(self) -> Recording:
        """Return what happened as a recording."""
        made = Manifest.now(model=self.source.name, shape=self.source.shape, policy=self.source.policy, workload="one cell", source=self.source.source)
        return Recording.of(made, [*self.before, *self.events])


@contextmanager
def tracing(source: Source) -> Generator[Traced]:
    """Note every event of the requests that `source` steps or runs inside."""
    traced = Traced(source, present(source.cache, source.closing))
    step: Callable[..., Iterator[Event]] = source.step
    run: Callable[..., Recording] = source.run

    def stepped(*args: Any, **given: Any) -> Iterator[Event]:
        for event in step(*args, **given):
            traced.events.append(event)
            yield event

    def ran(*args: Any, each: Callable[[Event], None] | None = None, **given: Any) -> Recording:
        traced.before, traced.events = [], []

        def note(event: Event) -> None:
            traced.events.append(event)
            if each is not None:
                each(event)

        return run(*args, each=note, **given)

    shadows: dict[str, Any] = {"step": stepped, "run": ran}
    vars(source).update(shadows)
    try:
        yield traced
    finally:
        for name in shadows:
            del vars(source)[name]
