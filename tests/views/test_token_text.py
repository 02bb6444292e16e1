"""Search by the text of tokens: over several tokens, over an edge's end, by request, by keyboard; and what is said where there are no texts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page

import kvlab
from kvlab.events import FrontierMoved, Matched, NodeBorn, NodeMerged, NodeSplit, RequestBegan, RequestClosed, TokenOut
from kvlab.recording import Recording
from kvlab.views.dashboard.widget import stepper
from tests.views.conftest import Script
from tests.views.dashboard_page import load, mount

FIRST = ["The", " capital", " of", " Fran", "ce", " is"]
SECOND = ["The", " capital", " of", " Spain", " is"]


def prompt(words: list[str]) -> dict[str, Any]:
    return {"tokens": len(words), "text": "".join(words), "prompt_tokens": json.dumps([[place, word] for place, word in enumerate(words)])}


def capitals(*, merged: bool = False, stored_text: bool = True) -> Recording:
    """Two requests that part after three tokens: node 2 [0, 3) holds `The capital of`, node 1 ` France is Paris`, node 3 ` Spain is`."""
    script = Script()
    script.add(NodeBorn(node=0))
    script.log.request = 1
    script.add(RequestBegan(label="one", **prompt(FIRST)), Matched(tokens=6, left=6), NodeBorn(node=1, parent=0, end=6), FrontierMoved(node=1))
    script.add(TokenOut(index=0, token=90, text=" Par"), TokenOut(index=1, token=91, text="is"), TokenOut(index=2, token=92, text="."))
    script.add(NodeBorn(node=1, parent=0, end=8), RequestClosed(generated=3, stop="limit"))
    script.log.request = 2
    script.add(RequestBegan(label="two", **prompt(SECOND)), Matched(tokens=5, matched=3, cached=3, left=2), NodeSplit(node=1, head=2, start=0, end=3))
    if merged:
        script.add(NodeMerged(node=1, head=2, start=0, end=8), FrontierMoved(node=0))
    else:
        script.add(NodeBorn(node=3, parent=2, start=3, end=5), FrontierMoved(node=3))
    return script.recording(stored_text=stored_text)


def found(page: Page, words: str) -> Any:
    return page.evaluate("words => search(store.scene(store.count - 1), words)", words)


@pytest.mark.parametrize(
    ("words", "hits"),
    [
        # within one token, over several, and over the end of node 2 into either branch
        ("capital", [(2, 2, 1, 2)]),
        ("CAPITAL of", [(2, 2, 1, 3)]),
        ("france", [(1, 1, 3, 5)]),
        ("of fran", [(2, 1, 2, 4)]),
        ("of", [(2, 2, 2, 3)]),
        ("capital of spain is", [(2, 3, 1, 5)]),
        # a prompt's end and its reply
        ("is paris", [(1, 1, 5, 8)]),
        # what was said last was never evaluated, so no node holds it
        ("paris.", []),
        (" is ", [(3, 3, 4, 5), (1, 1, 5, 6), (1, 1, 7, 8)]),
        ("germany", []),
    ],
)
def test_a_text_is_found_where_it_stands(page: Page, words: str, hits: list[tuple[int, int, int, int]]) -> None:
    mount(page, capitals(), texts=True)
    told = found(page, words)
    assert [(hit["first"], hit["node"], hit["start"], hit["end"]) for hit in told["hits"]] == hits
    assert told["note"] == ""


def test_what_was_merged_is_found_in_one_node(page: Page) -> None:
    mount(page, capitals(merged=True), texts=True)
    assert [(hit["first"], hit["node"], hit["start"], hit["end"]) for hit in found(page, "of france")["hits"]] == [(1, 1, 2, 5)]


def test_a_request_is_found_by_its_number(page: Page) -> None:
    mount(page, capitals(), texts=True)
    assert found(page, "r2")["nodes"] == [2, 3]
    assert found(page, "request 1")["nodes"] == [1]
    assert found(page, "r7") == {"nodes": [], "hits": [], "note": "Request 7 has not begun."}


def test_by_keyboard_from_hit_to_hit_each_marked(page: Page) -> None:
    mount(page, capitals(), texts=True)
    page.locator(".kv-slider").focus()
    page.keyboard.press("/")
    page.keyboard.type("of fr")
    page.wait_for_function("() => document.querySelectorAll('.kv-hit').length === 2")
    words = page.locator(".kv-found-words")
    assert words.inner_text() == "1 found: #1"
    told = "rows => rows.map(row => [row.dataset.node, row.getAttribute('aria-label').split('found at ')[1]])"
    marked = page.locator(".kv-node:has(.kv-hit)").evaluate_all(told)
    assert sorted(marked) == [["1", "tokens 3 to 4"], ["2", "tokens 2 to 3"]]
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('.kv-selected')?.dataset.node === '1'")
    assert words.inner_text() == "1 of 1 found: tokens [2, 4) on #2 to #1"
    page.locator(".kv-search").fill("is")
    for place, node in enumerate(("3", "1", "1", "3"), 1):
        page.keyboard.press("Enter")
        page.wait_for_function("node => document.querySelector('.kv-selected')?.dataset.node === node", arg=node)
        assert words.inner_text().startswith(f"{(place - 1) % 3 + 1} of 3 found: ")
    page.keyboard.press("Shift+Enter")
    assert words.inner_text().startswith("3 of 3 found: ")
    page.keyboard.press("Escape")
    page.wait_for_function("() => document.querySelectorAll('.kv-hit').length === 0")


@pytest.mark.parametrize(
    ("stored_text", "texts", "words"),
    [
        (False, True, "record with store_text=True"),
        (True, False, "show this with texts=True"),
    ],
)
def test_it_says_when_there_are_no_texts(page: Page, *, stored_text: bool, texts: bool, words: str) -> None:
    mount(page, capitals(stored_text=stored_text), texts=texts)
    told = found(page, "france")
    assert told["hits"] == []
    assert words in told["note"]
    assert "Fran" not in page.evaluate("JSON.stringify(store.tables)")


def test_the_twin_stores_ids_without_text(page: Page) -> None:
    recording = kvlab.twin("smollm2").run("chat:2", store_text=True, progress=False)
    mount(page, recording, texts=True)
    assert "not there" in found(page, "anything")["note"]


@pytest.mark.usefixtures("embedded_model")
def test_a_live_lab_reads_what_stands_and_what_comes(page: Page) -> None:
    lab = kvlab.open("smollm2")
    list(lab.step(kvlab.Request(prompt="The capital of France is", max_new=1)))
    view = stepper(lab.step(kvlab.Request(prompt="The capital of Spain is", max_new=1)), on=lab, texts=True)
    view.run()
    load(page, view._data)
    for words in ("france", "of spain is", "The capital of"):
        hits = found(page, words)["hits"]
        assert hits, words
        tokens = lab.encode(kvlab.Request(prompt="The capital of France is" if "fr" in words else "The capital of Spain is"))
        whole = "".join(text for _, text in lab.with_texts(tokens[hits[0]["start"] : hits[0]["end"]]))
        assert words.lower() in whole.lower()
    view.close()
