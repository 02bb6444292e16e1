"""The files of this repository, as tests look at them."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
"""The top of the checkout."""


def files() -> list[Path]:
    """Return every file that is, or would be, under version control."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for name in sorted(set(listed.split("\0")) - {""}) if (path := ROOT / name).is_file()]


def text(path: Path) -> str:
    """Return the text of `path`; nothing for a binary file."""
    raw = path.read_bytes()
    return "" if b"\0" in raw else raw.decode()
