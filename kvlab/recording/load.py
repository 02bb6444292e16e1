"""Reading a recording back, whole or what is left of it."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path

from kvlab.errors import UnreadableInput, require_path
from kvlab.recording.archive import MOST_MANIFEST, MOST_ZIP, Files, FolderFiles, ZipFiles, read_parts
from kvlab.recording.manifest import Manifest
from kvlab.recording.place import MANIFEST, building_name, left_aside
from kvlab.recording.recording import Recording
from kvlab.units import binary

MOST_NAMED = 12
"""Damaged parts that an error names."""


def load(path: str | Path, *, strict: bool = True) -> Recording:
    """Return the recording in a folder or an archive.

    What a killed run left is read like any other; it is not `complete`. With `strict=False` a recording with damaged parts is
    read without them; they are named in `damaged`.

    Raises:
        BadValue: it is no path.
        UnreadableInput: there is no recording, its schema version is not read, or (when strict) a part is damaged.

    Example:
        >>> import kvlab
        >>> made = kvlab.twin("smollm2").run("unrelated:2", out="run.kvrec", progress=False)
        >>> kvlab.load("run.kvrec").requests.equals(made.requests)
        True
    """
    place = require_path(path)
    files = _files(place)
    text = files.read(MANIFEST)
    if text is None:
        raise UnreadableInput(
            what=f"{str(path)!r} is not a recording",
            why=f"it has no {MANIFEST} of at most {binary(MOST_MANIFEST)} that is not encrypted",
            hint="name a folder NAME.kvrec or an archive that kvlab wrote",
        )
    manifest = Manifest.from_json(text, f"{path}/{MANIFEST}", strict=strict)
    found = read_parts(files, manifest)
    if strict and found.damaged:
        raise UnreadableInput(
            what=f"the recording {str(path)!r} is damaged: {_named(found.damaged)}",
            why="a part of its events is missing, out of its place, or not as it was written",
            hint=f"read the other {found.events.count:,} events with kvlab.load({str(path)!r}, strict=False), or --salvage on the command line",
        )
    return Recording(manifest, found.events, path=place, damaged=found.damaged)


def _named(parts: tuple[str, ...]) -> str:
    more = len(parts) - MOST_NAMED
    return ", ".join(parts[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


def _files(place: Path) -> Files:
    if place.is_dir():
        return FolderFiles(place)
    try:
        # a device or a pipe may never end
        return ZipFiles(b"" if (place.exists() and not place.is_file()) or place.stat().st_size > MOST_ZIP else place.read_bytes())
    except zipfile.BadZipFile:
        raise UnreadableInput(
            what=f"{str(place)!r} cannot be read as a recording",
            why=f"it is neither a folder nor a whole zip archive of at most {binary(MOST_ZIP)}",
            hint="name a folder NAME.kvrec or an archive made by pack; if it was copied, copy it again",
        ) from None
    except OSError as error:
        raise UnreadableInput(
            what=f"there is no recording {str(place)!r}" if not place.exists() else f"{str(place)!r} cannot be read",
            why=(error.strerror or str(error)).lower(),
            hint="; ".join(_left(place)) or "check the name; a recording is a folder NAME.kvrec or the same zipped",
        ) from None


def _left(place: Path) -> Iterator[str]:
    """Yield where recordings of that name are that a run which was ended left under other names."""
    for earlier in left_aside(place):
        yield f"the earlier recording is in {str(earlier)!r}, where a run that was ended left it; rename it to {place.name!r}"
    unfinished = building_name(place)
    if unfinished.is_dir():
        yield f"what that run recorded is in {str(unfinished)!r}"
