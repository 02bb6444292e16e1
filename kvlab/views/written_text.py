"""Writing a text that a user asked for to where he asked for it; a recording that stands there is not lost."""

from __future__ import annotations

from pathlib import Path

from kvlab.errors import BadValue, UnreadableInput
from kvlab.recording.place import is_recording


def write_text(text: str, path: str | Path) -> Path:
    """Write `text` to `path` and return it, absolute.

    Raises:
        BadValue: a recording stands there.
        UnreadableInput: the file cannot be written.
    """
    out = Path(path).expanduser().absolute()
    if is_recording(out):
        raise BadValue(
            what=f"the report cannot be written to {str(out)!r}",
            why="a recording stands there and would be lost",
            hint="choose another name, such as report.html",
        )
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UnreadableInput(
            what=f"the report {out.name} cannot be written",
            why=f"{error.strerror or error}: {out.parent}",
            hint="name a file in a folder that exists and that you may write to",
        ) from error
    return out
