"""A reply is cut at the first stop word, wherever the model's tokens end."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kvlab.serve.stop_words import StopWords

LETTERS = st.text("ab\n", max_size=30)


def cut(text: str, words: list[str]) -> str:
    return text[: min((place for word in words if word and (place := text.find(word)) >= 0), default=len(text))]


@given(LETTERS, st.lists(st.text("ab\n", max_size=4), max_size=3), st.lists(st.integers(1, 5), min_size=1))
def test_the_answer_is_the_text_before_the_first_word_that_is_complete(text: str, words: list[str], cuts: list[int]) -> None:
    stop, got, place = StopWords(words), "", 0
    while place < len(text) and not stop.found:
        step = cuts[place % len(cuts)] if len(cuts) > 1 else 1
        got += stop.add(text[place : place + step])
        place += step
    got += stop.finish()
    seen = text[:place]
    assert stop.found == any(word and word in seen for word in words)
    assert got == cut(seen, words)


def test_a_reply_of_single_letters_ends_at_the_first_complete_word() -> None:
    stop = StopWords(["abb", "b"])
    assert [stop.add(letter) for letter in "aab"] == ["", "a", "a"]
    assert stop.found


def test_what_only_began_like_a_stop_word_is_part_of_the_answer() -> None:
    stop = StopWords(["stop"])
    assert [stop.add("a st"), stop.add("ar"), stop.add(" sto"), stop.finish()] == ["a ", "star", " ", "sto"]
