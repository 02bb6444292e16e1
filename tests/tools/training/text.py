"""The text that the tiny models learn: chapters of four old books, one byte a character, shipped in `data/` and pinned by digest.

Invariants: the text is ASCII; chapters are in the order of the file; a held-out chapter is never trained on.
"""

from __future__ import annotations

import hashlib
import lzma
from dataclasses import dataclass

from kvlab import shipped
from kvlab.errors import UnreadableInput

FILE = "tiny-text/books.txt.xz"
"""The text in `data/`: chapters separated by a form feed, paragraphs by an empty line, a paragraph being one line."""

SHA256 = "18ee34c8f3e8e949e9749f51229badec96fcfe1118c6d24c998079173d7cdd9f"
"""The digest of the text, unpacked."""

HELD_OUT_OF = 20
HELD_OUT_AT = 9
"""Of every 20 chapters the tenth is held out, so every book has at least one."""


@dataclass(frozen=True, slots=True)
class Text:
    """The chapters, as text.

    Attributes:
        trained: What the models learn.
        held_out: What they never see.
    """

    trained: tuple[str, ...]
    held_out: tuple[str, ...]

    @property
    def held_out_bytes(self) -> bytes:
        """The held-out chapters as one run of bytes, an empty line between them."""
        return "\n\n".join(self.held_out).encode()


def read() -> Text:
    """Return the shipped text, split.

    Raises:
        NotAvailable: this installation has no text.
        UnreadableInput: the file is damaged.
    """
    path = shipped.data(FILE)
    try:
        raw = lzma.decompress(path.read_bytes())
    except lzma.LZMAError as error:
        raise _damaged(str(error)) from error
    if hashlib.sha256(raw).hexdigest() != SHA256:
        raise _damaged("its digest is not the pinned one")
    chapters = raw.decode("ascii").strip("\n").split("\f")
    is_held_out = [place % HELD_OUT_OF == HELD_OUT_AT for place in range(len(chapters))]
    return Text(
        trained=tuple(chapter for chapter, out in zip(chapters, is_held_out, strict=True) if not out),
        held_out=tuple(chapter for chapter, out in zip(chapters, is_held_out, strict=True) if out),
    )


def _damaged(why: str) -> UnreadableInput:
    return UnreadableInput(what=f"data/{FILE} cannot be used", why=why, hint="get the file anew: install kvlab again, or check it out")
