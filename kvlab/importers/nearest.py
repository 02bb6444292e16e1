"""Of a text that nothing knows, the line that came nearest to a known format: where a reader may see what to mend."""

from __future__ import annotations

import difflib
import re

from kvlab.importers.formats import formats

MOST_LINES = 200
LONGEST = 160
LEAST = 0.5
"""How alike a line and a sample must be, 0 to 1, to be named."""

_DIGITS = re.compile(r"\d+")


def nearest_line(head: str) -> str:
    """Return a sentence on the line that is most like a sample of a format; "" when none is like any."""
    lines = [line.strip()[:LONGEST] for line in head.splitlines()[:MOST_LINES] if re.search(r"\d", line)]
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
