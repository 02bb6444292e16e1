"""One lab and two threads: a second run is refused with a hint and harms neither the first one nor the next."""

from __future__ import annotations

import threading

import pytest

import kvlab
from kvlab.errors import KvlabError, NotAvailable
from kvlab.events import Event
from kvlab.workloads import unrelated


def test_a_second_thread_is_refused_while_one_runs() -> None:
    twin = kvlab.twin("smollm2")
    begun, refused = threading.Event(), list[KvlabError]()

    def other() -> None:
        begun.wait(60)
        for use in (lambda: twin.run(unrelated(2), progress=False), lambda: list(twin.step("a")), twin.idle):
            try:
                use()
            except KvlabError as error:
                refused.append(error)

    thread = threading.Thread(target=other)

    def each(event: Event) -> None:
        del event
        if not begun.is_set():
            begun.set()
            thread.join()

    thread.start()
    recording = twin.run(unrelated(4), progress=False, each=each)
    assert [type(error) for error in refused] == [NotAvailable] * 3
    assert "another thread" in refused[0].what
    assert recording.requests.equals(kvlab.twin("smollm2").run(unrelated(4), progress=False).requests)


def test_a_step_that_rests_keeps_no_other_thread_away() -> None:
    twin = kvlab.twin("smollm2")
    stepping = twin.step("a")
    next(stepping)
    found = list[int]()
    thread = threading.Thread(target=lambda: found.append(twin.run(unrelated(2), progress=False).requests.height))
    thread.start()
    thread.join()
    assert found == [2]


def test_a_lab_runs_in_another_thread_than_it_was_opened_in() -> None:
    lab = kvlab.open("tiny-hybrid")
    found = list[int | str]()

    def run() -> None:
        try:
            found.append(lab.run("repeat:2", progress=False).requests.height)
        except KvlabError as error:
            found.append(error.what)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert found


@pytest.mark.parametrize("given", [None, 3, b"run.kvrec", [], object()])
def test_what_is_no_recording_and_no_path_is_refused(given: object) -> None:
    for use in (kvlab.load, kvlab.diagnose, kvlab.facts):
        with pytest.raises(KvlabError, match="is no path"):
            use(given)  # pyright: ignore[reportArgumentType]
