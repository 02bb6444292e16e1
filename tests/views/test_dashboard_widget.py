"""The widget without a browser: what is sent, what Python hears, and that it holds no array."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from typing import Any

import pytest

import kvlab
from kvlab.errors import BadValue
from kvlab.events import Event, NodeBorn, RequestBegan
from kvlab.lab.lab import Lab, open_lab
from kvlab.recording import Recording
from kvlab.views.dashboard.dataset import Dataset, dataset_of
from kvlab.views.dashboard.tables import QUIET
from kvlab.views.dashboard.widget import Dashboard, dashboard, stepper

WIDGET = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, Any]]:
    """What goes to a page: messages of the dashboard's own, and traits, each with its size as JSON."""
    told: list[tuple[str, int, Any]] = []

    def send(_: Any, content: Any, buffers: Any = None) -> None:
        del buffers
        told.append(("message", len(json.dumps(content)), content))

    def send_state(widget: Any, key: Any = None) -> None:
        names = [key] if isinstance(key, str) else sorted(key or widget.keys)
        told.append(("state", len(json.dumps({name: getattr(widget, name) for name in names})), names))

    monkeypatch.setattr(Dashboard, "send", send)
    monkeypatch.setattr(Dashboard, "send_state", send_state)
    return told


def rebuilt(view: Dashboard) -> dict[str, Any]:
    return json.loads(json.dumps(view._data))


def test_a_step_sends_what_it_adds_and_no_data_set(sent: list[tuple[str, int, Any]]) -> None:
    twin = kvlab.twin("smollm2")
    for request in kvlab.workloads.unrelated(12).requests:
        for _ in twin.step(request):
            pass
    view = stepper(twin.step("What is the capital of France?"), on=twin)
    whole = len(json.dumps(view._data))
    sent.clear()
    events: list[Event] = []
    while not view.ended:
        events += view.next()
    messages = [size for kind, size, _ in sent if kind == "message"]
    assert len(messages) >= len([event for event in events if event.kind not in QUIET])
    assert max(messages) < whole / 5
    assert sum(messages) / len(events) < 600
    names = {name for kind, _, names in sent if kind == "state" for name in names}
    assert "_data" not in names


def test_what_was_sent_piece_by_piece_is_the_whole() -> None:
    twin = kvlab.twin(["recurrent", "kv"])
    view = stepper(twin.step("Hello there."), on=twin)
    while not view.ended:
        view.next("phase")
    afterwards = Dataset(view._dataset.about)
    afterwards.take(view.events)
    assert rebuilt(view) == json.loads(json.dumps(afterwards.whole()))


def test_next_stops_where_it_is_asked_to() -> None:
    twin = kvlab.twin("smollm2")
    list(twin.step("What is the capital of France?"))
    view = stepper(twin.step("Name one colour."), on=twin)
    assert view.next()[-1].kind == "request_began"
    assert view.sentence.startswith("Request 2 begins")
    assert view.next("node_split")[-1].kind == "node_split"
    assert view.at == view.events[-1].seq
    assert "cut at token" in view.sentence
    assert len(view.next(count=2)) == 2
    assert view.next("phase")[-1].kind == "bytes_read"
    view.run()
    assert view.ended
    assert view.next() == []
    view.extend(twin.step("Name one animal."))
    assert view.next()[-1].kind == "request_began"
    assert view.recording.requests.height == 2


def test_the_page_asks_for_the_next_event(sent: list[tuple[str, int, Any]]) -> None:
    view = stepper(iter([RequestBegan(seq=0, request=1, tokens=4), NodeBorn(seq=1, request=1, node=1, end=4)]))
    view._heard(view, {"pull": "event"}, [])
    assert view.at == 0
    view._heard(view, {"pull": "request"}, [])
    assert view.ended
    answers = [content["answer"] for kind, _, content in sent if kind == "message"]
    assert answers == [{"ended": False}, {"ended": True}]


def test_what_goes_wrong_in_a_run_is_told_in_the_page(sent: list[tuple[str, int, Any]]) -> None:
    def failing() -> Iterator[Event]:
        yield RequestBegan(seq=0, request=1)
        raise BadValue("the prompt is empty", "a model needs a token", "give one")

    view = stepper(failing())
    view._heard(view, {"pull": "event"}, [])
    view._heard(view, {"pull": "event"}, [])
    assert sent[-1][2]["answer"]["ended"]
    assert "the prompt is empty" in sent[-1][2]["answer"]["error"]


def test_a_recording_is_there_at_once_and_cannot_be_pulled(pair: Recording) -> None:
    view = stepper(pair)
    assert view.at == 0
    assert view.ended
    assert dashboard(pair).at == pair.events.item(-1, "seq")
    with pytest.raises(BadValue, match="all of it is there"):
        view.next()


@pytest.mark.parametrize("wrong", ["a text", 7, None])
def test_what_cannot_be_stepped_is_refused(wrong: Any) -> None:
    with pytest.raises(BadValue, match="cannot be stepped"):
        stepper(wrong)


def test_its_bundle_holds_a_picture_and_a_text(pair: Recording) -> None:
    made: Any = dashboard(pair)._repr_mimebundle_()
    bundle = made[0]
    assert set(bundle) == {WIDGET, "text/plain", "image/png"}
    assert bundle["text/plain"].startswith(f"dashboard at event {pair.events.item(-1, 'seq')}")
    still = dashboard(pair).still()
    assert set(still._repr_mimebundle_()) == {"text/plain", "image/png"}


def test_texts_are_in_a_live_page_only_when_asked_for() -> None:
    twin = kvlab.twin("smollm2")
    words = "What is the capital of the country France?"
    assert words not in json.dumps(_run(stepper(twin.step(words), on=twin))._data)
    assert words in json.dumps(_run(stepper(twin.step(words), on=twin, texts=True))._data)


def _run(view: Dashboard) -> Dashboard:
    view.run()
    return view


def test_a_thinned_dataset_has_every_node_and_fewer_stops(fifteen: Recording) -> None:
    whole, thin = dataset_of(fifteen).whole(), dataset_of(fifteen, most=1).whole()
    assert thin["add"]["nodes"] == whole["add"]["nodes"]
    assert thin["add"]["readings"] == whole["add"]["readings"]
    assert len(thin["add"]["events"]["seq"]) < len(whole["add"]["events"]["seq"]) / 2


@pytest.fixture(scope="module")
def lab() -> Lab:
    return open_lab("tiny-hybrid")


def test_the_dashboard_keeps_no_array_alive(lab: Lab) -> None:
    def active() -> int:
        gc.collect()
        return lab._model.meter.read().active

    for _ in lab.step("The first request.", policy=lab.policy):
        pass
    before = active()
    view = stepper(lab.step("The first request, and more."), on=lab)
    view._repr_mimebundle_()
    assert active() == before, "opening it takes no array"
    view.run()
    stepped = active()
    view.close()
    assert active() == stepped, "closing it gives none back"
    del view
    assert active() == stepped

    # the same requests without any view leave as many bytes that nobody owns; another budget begins with an empty cache
    texts = ("The first request.", "The first request, and more.")
    for text in texts:
        for _ in lab.step(text, policy=lab.policy.replace(budget_bytes=2**30)):
            pass
    without = lab.closing.unattributed
    for text in texts:
        stepper(lab.step(text, policy=lab.policy.replace(budget_bytes=2**30 + 1))).run()
    assert lab.closing.unattributed == without


def test_closing_ends_a_request_that_is_under_way(lab: Lab) -> None:
    view = stepper(lab.step("Something that takes a while to say."), on=lab)
    view.next("phase")
    view.close()
    assert view.ended
    assert next(iter(lab.step("Another one."))).kind in ("request_closed", "request_began", "bytes_read", "snapshot_taken", "node_born")
