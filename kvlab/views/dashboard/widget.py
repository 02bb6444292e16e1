# pyright: standard
"""Dashboard: the widget. It holds a dataset and, for a live run, the iterator whose next event makes the model go on.

Invariants: the dataset is sent once, when the widget is made; a step sends what it adds and nothing else; no array is held; moving
through time needs no kernel. `at` and `selected` follow the page, and the page follows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import anywidget
import traitlets

from kvlab.cache.present import present
from kvlab.errors import BadValue, KvlabError
from kvlab.events import Event
from kvlab.lab.source import Source
from kvlab.recording import Manifest, Recording
from kvlab.views.dashboard import page, still
from kvlab.views.dashboard.dataset import WORDS, Dataset, dataset_of
from kvlab.views.dashboard.requests import HIDDEN, NO_TOKENS, SHOWN, of_present
from kvlab.views.dashboard.sentences import text
from kvlab.views.dashboard.tables import QUIET, About, about_source

UNTIL: dict[str, str] = {"event": "", "phase": "bytes_read", "request": "request_began", "split": "node_split", "eviction": "evicted"}
"""Where `next` can stop, by the kind of the event."""

AT_A_TIME = 20_000
"""One press of a button takes at most this many events."""


class Dashboard(anywidget.AnyWidget):
    """Trie, spans, bytes and requests at one moment, of a recording or of a live run.

    Attributes:
        at: The moment that is shown: the seq of an event; -1 when there is none.
        selected: The node that was chosen, by itself or as what a band of bytes holds; None for none.
        band: What the chosen band of bytes holds, {} when none is chosen: `owner`, `bytes`, `node` (the one chosen), `nodes`, `layers`, and what last
            changed it: `event` (seq), `request`, `call_site` (Python code and its callers; None when the run did not record it).
        events: Of a live run, what has happened so far.
    """

    _esm = page.module()
    _css = page.style()
    _data = traitlets.Dict().tag(sync=True)
    _live = traitlets.Bool(default_value=False).tag(sync=True)
    _opens_at = traitlets.Unicode("start").tag(sync=True)
    at = traitlets.Int(-1).tag(sync=True)
    selected = traitlets.Int(None, allow_none=True).tag(sync=True)
    band = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        dataset: Dataset,
        *,
        recording: Recording | None = None,
        source: Iterator[Event] | None = None,
        opens_at: str = "start",
    ) -> None:
        self.events: list[Event] = []
        self._recording = recording
        self._steps = recording is None
        self._dataset = dataset
        self._source = source
        first = dataset.first if opens_at == "start" else dataset.last
        super().__init__(_data=dataset.whole(), _live=source is not None, _opens_at=opens_at, at=first)
        self.on_msg(self._heard)

    @property
    def ended(self) -> bool:
        """Whether there is nothing more to step to: always so for a recording."""
        return self._source is None

    def next(self, until: str = "event", count: int = 1) -> list[Event]:
        """Take the next events of a live run and show the last one; the model goes on because they are requested.

        Args:
            until: `event` takes `count` events, and those between them that are no stop of their own (`QUIET`); `phase`, `request`, `split`, `eviction`, or
                the kind of an event, up to the first such one.
            count: How many, with `event`.

        Raises:
            BadValue: a recording is shown, all of which is there already.
        """
        if not self._steps:
            raise BadValue("a recording has no next event", "all of it is there already", "set view.at to the seq of an event, or step a live run")
        wanted = UNTIL.get(until, until)
        most = AT_A_TIME if wanted else count
        taken: list[Event] = []
        stops = 0
        while stops < most and not (taken and taken[-1].kind == wanted):
            event = next(self._source, None) if self._source is not None else None
            if event is None:
                self._source = None
                break
            taken.append(event)
            stops += event.kind not in QUIET
        self._added(taken)
        return taken

    def run(self) -> list[Event]:
        """Take all events that are left of a live run."""
        taken: list[Event] = []
        while not self.ended:
            taken += self.next(count=AT_A_TIME)
        return taken

    def extend(self, events: Iterable[Event]) -> None:
        """Go on with another live run on the same cache, such as the next `lab.step(...)`; what is left of the one before is run first."""
        self.run()
        self._source = iter(events)
        self._live = True
        self.send({"answer": {"ended": False}})

    def close(self) -> None:
        """Close the page's view and let the live run go; a request that is under way ends as cancelled."""
        source, self._source = self._source, None
        closes: Callable[[], None] | None = getattr(source, "close", None)
        if closes is not None:
            closes()
        super().close()

    @property
    def recording(self) -> Recording:
        """What is shown; of a live run, what has happened so far, without prompts and replies."""
        about = self._dataset.about
        if self._recording is None:
            made = Manifest.now(model=about.title, shape=about.shape, policy=about.policy, source=about.source or "live")
            self._recording = Recording.of(made, self.events)
        return self._recording

    @property
    def sentence(self) -> str:
        """What happened at the moment that is shown, and which rule did it."""
        event = self.recording.event(self.at)
        return text(event, self._dataset.about.policy) if event is not None else "Nothing has happened yet."

    def still(self) -> still.Still:
        """Return the moment that is shown as a picture and a text, which stay in a stored notebook."""
        return still.Still(self.recording, self.at, still.text(self.recording, self.at, self.sentence))

    def _added(self, events: list[Event]) -> None:
        self.events += events
        self._recording = None
        self._dataset.take(events)
        delta = self._dataset.delta()
        # what a page opened later reads; changed in place, so that nothing is sent again
        _grow(self._data, delta)
        self.send(delta | {"answer": {"ended": self.ended}})
        if events:
            with self.hold_trait_notifications():
                self.at = events[-1].seq

    def _heard(self, _: Any, content: dict[str, Any], __: Any) -> None:
        until = str(content.get("pull", ""))
        try:
            self.next(until)
        except KvlabError as error:
            self._source = None
            self.send({"answer": {"ended": True, "error": str(error)}})

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        found = super()._repr_mimebundle_(**kwargs)
        data, metadata = found if isinstance(found, tuple) else (found or {}, {})
        return {**data, **self.still().bundle()}, metadata


def _grow(data: dict[str, Any], delta: dict[str, Any]) -> None:
    for table, columns in delta.get("add", {}).items():
        kept = data.setdefault("add", {}).setdefault(table, {})
        for column, values in columns.items():
            kept.setdefault(column, []).extend(values)
    for table, pairs in delta.get("ended", {}).items():
        for row, seq in pairs:
            data["add"][table]["died"][row] = seq
    for name in WORDS:
        if name in delta:
            data.setdefault(name, []).extend(delta[name])
    rows = {row["request"]: row for row in [*data.get("requests", []), *delta.get("requests", [])]}
    data["requests"] = list(rows.values())


def dashboard(recording: Recording, *, opens_at: str = "end", texts: bool = False) -> Dashboard:
    """Return the dashboard of a recording."""
    return Dashboard(dataset_of(recording, texts=texts), recording=recording, opens_at=opens_at)


def stepper(source: Recording | Iterable[Event], on: Source | None = None, *, texts: bool = False) -> Dashboard:
    """Return a dashboard that opens at the beginning and goes on event by event.

    Args:
        source: A recording, or events as they come, such as `lab.step("Why is the sky blue?")`: taking the next one makes the model go on.
        on: The lab or twin that is stepped: its policy names the rules, its cache shows what is there already. For a recording not needed.
        texts: Show prompts and replies in the page; of a recording only those that were stored.

    Raises:
        BadValue: `source` is neither.

    Example:
        >>> import kvlab
        >>> view = kvlab.stepper(kvlab.twin("smollm2").run("unrelated:2", progress=False))
        >>> view.at
        0
    """
    if isinstance(source, Recording):
        return dashboard(source, opens_at="start", texts=texts)
    if isinstance(source, str) or not isinstance(source, Iterable):
        raise BadValue(
            f"{source!r} cannot be stepped", "a stepper takes a recording or events as they come", "write for example kvlab.stepper(lab.step('Hello'), on=lab)"
        )
    about = about_source(on) if on is not None else About.of("a live run", {}, {})
    data = Dataset(about, texts=texts, searchable=_searchable(on, texts=texts))
    before: list[Event] = []
    if on is not None:
        before = present(on.cache, on.closing)
    data.take(before)
    if on is not None:
        on.token_texts = on.token_texts or texts
    if on is not None and data.searchable == SHOWN:
        data.take_texts(of_present(on))
    made = Dashboard(data, source=iter(source), opens_at="end")
    made.events = before
    return made


def _searchable(on: Source | None, *, texts: bool) -> str:
    if not texts:
        return HIDDEN
    return SHOWN if on is not None and on.has_text else NO_TOKENS
