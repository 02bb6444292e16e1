"""The card of a twin: text and HTML, both still, every figure with its unit."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import kvlab
from kvlab.models.config import Provenance
from kvlab.policy import Policy
from kvlab.shape import LayerGroup, Shape
from kvlab.views.shape_card import facts, shape_card, shape_card_html


class Words(HTMLParser):
    """Collects the tags and the words of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.open: list[str] = []
        self.words = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert attrs in ([], [("style", "text-align:left")]), "no links or handlers"
        self.tags.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words += data + "\n"


def test_a_twin_shows_itself_as_words_and_tables() -> None:
    bundle = kvlab.twin("qwen3.8-27b")._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}
    for words in (bundle["text/plain"], bundle["text/html"]):
        assert "Twin of qwen3.8-27b" in words
        # 153,944,064 bytes; 16 of full attention and a draft layer at 4 KiB each
        assert "146.81 MiB" in words
        assert "68.00 KiB" in words
        assert "8.00 GiB is full at request 28" in words
        assert "fact" in words


def test_the_layers_by_kind() -> None:
    lines = [re.split(r" {2,}", line.strip()) for line in shape_card(kvlab.twin("gemma4-31b")).replace("\N{NO-BREAK SPACE}", " ").splitlines()]
    assert ["sliding window", "50", "800.00 KiB", "800.00 MiB", "1,024 tokens", "fact"] in lines
    assert ["full attention", "10", "80.00 KiB", "-", "-", "fact"] in lines


def test_a_constant_that_was_fitted_to_a_published_table_says_so() -> None:
    for words in kvlab.twin("qwen3.8-27b")._repr_mimebundle_().values():
        assert "16.94 GiB (fitted)" in words
        assert "fitted to the 50-turn table of ollama PR 18353" in words
    assert "(fact)" in shape_card(kvlab.twin("smollm2"))
    assert "fitted" not in shape_card(kvlab.twin("smollm2"))


def test_the_page_is_whole_and_still() -> None:
    page = Words()
    page.feed(shape_card_html(kvlab.twin("gemma4-31b")))
    assert page.open == []
    assert "script" not in page.tags
    assert "full attention" in page.words


def test_names_and_sources_are_escaped() -> None:
    shape = Shape("<b>mine</b>", (LayerGroup("kv", (0,), bytes_per_token=8),))
    twin = kvlab.twin(shape)
    twin.provenance["kv"] = Provenance("guess", "<script>alert(1)</script>")
    page = Words()
    page.feed(shape_card_html(twin))
    assert "<b>mine</b>" in page.words
    assert "<script>alert(1)</script>" in page.words
    assert {"b", "script"} & page.tags == set()


def test_what_nobody_told_is_not_told() -> None:
    words = shape_card(kvlab.twin(["kv", "stateless"]))
    assert "fact" not in words
    assert "keeps nothing" in words
    assert "none: every position can be restored" in words


def test_a_policy_is_named_and_its_budget_used() -> None:
    words = shape_card(kvlab.twin("qwen3.8-27b", Policy(budget_bytes=2**30)))
    assert "budget_bytes=1.00 GiB" in words
    # the case budget_short_unrelated_15 has 0.719 GiB after request 2 and 1.008 after request 3
    assert "1.00 GiB is full at request 3" in words


def test_a_cache_that_does_not_grow_says_so() -> None:
    twin = kvlab.twin("tiny-hybrid")
    twin.outlook = replace(twin.outlook, growth=0, nodes=0.5, full_at=None)
    words = shape_card(twin)
    assert "does not fill with such requests" in words
    assert "0.5 nodes, no bytes that stay" in words


def test_a_model_of_recurrent_layers_alone_keeps_nothing_by_token() -> None:
    words = dict(facts(kvlab.twin(["recurrent", "recurrent"])))["a token"]
    assert words == "nothing that stays: no layer keeps a slot for every token"
    assert dict(facts(kvlab.twin(["recurrent", "kv"])))["a token"] == "1 B in every layer that keeps a slot a token"
