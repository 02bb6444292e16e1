"""Writing a report where a user names it."""

from __future__ import annotations

from pathlib import Path

from kvlab.output_file import FileKind, headed, replacing
from kvlab.recording.place import require_outside
from kvlab.views.markdown_block import LAST_LINE

HTML = headed("a report", lambda head: b"default-src 'none'; script-src 'unsafe-inline'" in head and b"<title>kvlab: " in head)
MARKDOWN = FileKind("a Markdown report", lambda path: path.read_bytes().endswith(f"{LAST_LINE}\n".encode()))


def write_text(text: str, path: str | Path, kind: FileKind, *, force: bool = False) -> Path:
    """Write `text` to `path` and return it, absolute.

    Raises:
        BadValue: a recording's folder is around it, or a file is there that is not of that kind and it is not forced.
        UnreadableInput: the file cannot be written; then what is there is as it was.
    """
    out = Path(path).expanduser().absolute()
    require_outside(out)
    with replacing(out, kind, force=force) as file:
        file.write(text.encode("utf-8"))
    return out
