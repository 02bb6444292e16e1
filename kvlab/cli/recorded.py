"""Opening what a user names: a recording, or any file that can be imported as one."""

from __future__ import annotations

import argparse
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvlab.recording import Recording


def open_recording(args: argparse.Namespace) -> Recording:
    """Return the recording that `args.recording` names; a file that is none is imported, and lines that were not understood are told on standard error.

    Raises:
        UnreadableInput: it cannot be read.
    """
    from kvlab.recording import load

    file = Path(args.recording).expanduser()
    if not file.is_file() or file.name.endswith(".zip") or zipfile.is_zipfile(file):
        return load(args.recording, strict=not args.salvage)
    from kvlab.events import UNDERSTOOD
    from kvlab.importers import import_file

    imported = import_file(file)
    if imported.summary.total(UNDERSTOOD[-1]):
        print(imported.summary, file=sys.stderr)
    return imported.recording
