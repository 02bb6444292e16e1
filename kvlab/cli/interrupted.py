"""What is told of a command's recording beside its result: whether an interrupted one is kept and where, and whether it replaced an earlier one.

A command that records says with the argument default `recording_folder` (a function of the arguments) where its recording is kept.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def which_folder(args: argparse.Namespace) -> int | None:
    """Return a number for the folder that is now where the command keeps its recording; a new recording there has another one."""
    folder = _place(args)
    try:
        return Path(folder).expanduser().stat().st_ino if folder else None
    except OSError:
        return None


def holds_recording(args: argparse.Namespace) -> bool:
    """Return whether a recording now stands where the command keeps its own."""
    folder = _place(args)
    return bool(folder) and (Path(folder).expanduser() / "manifest.json").is_file()


def stop_message(args: argparse.Namespace, stopped: BaseException, how: str) -> str:
    """Return the words for a command that was stopped, `how` says by what."""
    if "recording_folder" not in args:
        return how
    if not _place(args):
        return f"{how}; nothing was kept, --out NAME.kvrec keeps what is recorded"
    return "; ".join([how, *notes]) if (notes := kept_words(args, stopped)) else f"{how} before anything was recorded"


def kept_words(args: argparse.Namespace, error: BaseException) -> list[str]:
    """Return where what was recorded until an error is kept; nothing when it was in a temporary folder."""
    notes: list[str] = getattr(error, "__notes__", [])
    return notes if _place(args) else []


def replaced(args: argparse.Namespace, before: int | None) -> str:
    """Return the words when the earlier recording, in the folder numbered `before`, is gone; "" when it stands still."""
    return "" if which_folder(args) in (None, before) else f"replaced the earlier recording {_place(args)}"


def _place(args: argparse.Namespace) -> str | None:
    return args.recording_folder(args) if "recording_folder" in args else None
