"""Opening what a user names: a recording, or any file that can be imported as one."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvlab.recording import Recording


def open_recording(args: argparse.Namespace) -> Recording:
    """Return the recording that `args.recording` names; another file, or `-`, is imported, with those of `args.more`.

    Lines that were not understood are told on standard error.

    Raises:
        UnreadableInput: it cannot be read.
    """
    from kvlab.diagnose.facts import is_importable
    from kvlab.importers.inputs import STANDARD
    from kvlab.recording import load

    more: list[str] = getattr(args, "more", None) or []
    if not more and args.recording != STANDARD and not is_importable(Path(args.recording).expanduser()):
        return load(args.recording, strict=not args.salvage)
    from kvlab.events import UNDERSTOOD
    from kvlab.importers import import_files

    imported = import_files([args.recording, *more])
    if imported.summary.total(UNDERSTOOD[-1]) or imported.summary.notes:
        print(imported.summary, file=sys.stderr)
    return imported.recording
