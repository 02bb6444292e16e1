"""The kinds of input that can be read, how one is recognised by its beginning, and what reads it."""

from __future__ import annotations

import difflib
import re

from kvlab.errors import UnreadableInput
from kvlab.importers.formats import formats
from kvlab.importers.lines import MOST_LINES
from kvlab.importers.ollama_log import FORMAT as OLLAMA
from kvlab.importers.ollama_log import OllamaLog
from kvlab.importers.paste import API_PS, TABLE, Paste
from kvlab.importers.rows import Rows
from kvlab.importers.summary import Summary

SAMPLES = "samples"

_LOG = re.compile(
    r'^\[GIN\] .*|level=[A-Z]+ source=\S+ |msg="?(?:cache (?:hit|miss)|failed to restore cache)|(?:^|\s)cache (?:hit|miss)\s+total=\d'
    r"|(?:prefix|kv) cache active_tokens: "
)
_ASIDE = frozenset({"http", "crash", "commands", "settings"})
"""Formats whose lines accompany others."""

MOST_COMPARED = 200
LONGEST = 160
LEAST = 0.5
"""How alike a line and a sample must be, 0 to 1, to be named."""

_DIGITS = re.compile(r"\d+")


Importer = OllamaLog | Paste
"""What reads one kind of input into rows."""

KINDS: dict[str, str] = {
    API_PS: "answers of GET /api/ps as JSON",
    **{one.name: one.about for one in formats().values()},
    TABLE: "a table of figures: markdown, CSV, or columns",
    SAMPLES: "several of these in one text",
}
"""All kinds by name, with what each is."""


def importer_of(kind: str, rows: Rows, summary: Summary) -> Importer:
    """Return what reads a kind of input."""
    return OllamaLog(rows, summary) if kind == OLLAMA else Paste(rows, summary, None if kind == SAMPLES else kind)


def recognise(head: str) -> str | None:
    """Return the kind of a file that begins with `head`; None when nothing in it is known. Of several kinds, or with text of no kind, it is `samples`."""
    lines = head.split("\n")[:MOST_LINES]
    if any(_LOG.search(line[:2_000]) for line in lines):
        return OLLAMA
    paste = Paste(Rows(None, ""), Summary())
    try:
        paste.lines(lines)
        paste.finish()
    except UnreadableInput:
        # only a table that can be read in two ways is refused; reading it says so
        return TABLE
    names = [name for name in paste.read if name not in _ASIDE] or paste.read[:1]
    return None if not names else names[0] if len(names) == 1 else SAMPLES


def nearest_line(head: str) -> str:
    """Return a sentence on the line that is most like a sample of a format; "" when none is like any."""
    lines = [line.strip()[:LONGEST] for line in head.splitlines()[:MOST_COMPARED] if re.search(r"\d", line)]
    specs = [spec for one in formats().values() for spec in (*one.lines, *one.columns)]
    samples = [(_bare(text), spec.format, text) for spec in specs for text in spec.sample.strip().splitlines()[-1:]]
    best = (LEAST, "", "", "")
    for line in lines:
        matcher = difflib.SequenceMatcher(b=_bare(line), autojunk=False)
        for bare, name, text in samples:
            matcher.set_seq1(bare)
            if matcher.real_quick_ratio() > best[0] and matcher.quick_ratio() > best[0] and (ratio := matcher.ratio()) > best[0]:
                best = (ratio, line, name, text)
    _, line, name, text = best
    shown = "".join(letter if letter.isprintable() else " " for letter in line)
    return f"the line nearest to a known one is {shown!r}, like {text.strip()[:LONGEST]!r} of {name}; " if name else ""


def _bare(text: str) -> str:
    return _DIGITS.sub("0", text.strip()[:LONGEST])
