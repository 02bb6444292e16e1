"""Conversations out of the books: speeches that answer each other, as turns of a user and an assistant.

A conversation is a run of paragraphs that each begin with a speech; a turn is what a paragraph quotes, without the words around it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

LONGEST = 300
"""Characters of the longest speech that makes a turn."""

QUOTED = re.compile(r'"([^"]+)"')


def conversations(chapters: Sequence[str]) -> list[list[tuple[str, str]]]:
    """Return every conversation as (role, content) messages: user and assistant in turn, the assistant last.

    A run of three or more speeches gives two conversations: each speech but the first and last is then once asked and once answered.
    """
    found: list[list[tuple[str, str]]] = []
    for chapter in chapters:
        for run in _runs(chapter):
            found.append(_in_turn(run))
            if len(run) > 2:
                found.append(_in_turn(run[1:]))
    return found


def _in_turn(speeches: Sequence[str]) -> list[tuple[str, str]]:
    even = speeches[: len(speeches) // 2 * 2]
    return [("assistant" if place % 2 else "user", speech) for place, speech in enumerate(even)]


def _runs(chapter: str) -> Iterator[list[str]]:
    """Yield runs of two or more speeches that follow each other."""
    run: list[str] = []
    for paragraph in chapter.split("\n\n"):
        speech = _speech(paragraph)
        if speech:
            run.append(speech)
            continue
        if len(run) > 1:
            yield run
        run = []
    if len(run) > 1:
        yield run


def _speech(paragraph: str) -> str:
    """Return what `paragraph` quotes, "" when it does not begin with a speech or the speech is long or left open."""
    if not paragraph.startswith('"') or paragraph.count('"') % 2 or "\n" in paragraph:
        return ""
    speech = " ".join(piece.strip() for piece in QUOTED.findall(paragraph)).rstrip(" ,;-")
    if not speech or len(speech) > LONGEST:
        return ""
    return speech if speech[-1] in ".!?" else f"{speech}."
