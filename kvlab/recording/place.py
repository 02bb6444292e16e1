"""A recording's folder on disk: whether it may be written there, and putting a new one in place of an old one.

Invariant: an earlier recording keeps its name until the new one is complete: the new one is built next to it, the old one steps aside, the new one
takes its name, and only then is the old one removed. At no moment, a kill included, are both gone.
"""

from __future__ import annotations

import secrets
import shutil
from glob import escape
from itertools import count
from pathlib import Path

from kvlab.errors import BadValue, followed
from kvlab.output_file import reason, replaced, unwritable

MANIFEST = "manifest.json"
EVENTS = "events"

_NEW, _ASIDE = ".new-", ".before-"


def require_outside(out: Path, *, itself: bool = False) -> None:
    """Check that something may be written at `out` without writing into a recording's folder; nothing changes.

    Args:
        out: The place.
        itself: Several files will be put into the folder `out`, so it must not be a recording either.

    Raises:
        BadValue: a recording's folder is around it.
    """
    place = followed(out)
    for folder in (place, *place.parents) if itself else place.parents:
        if (folder / MANIFEST).is_file() and ((folder / EVENTS).is_dir() or folder.suffix == ".kvrec"):
            raise BadValue(
                what=f"{str(out)!r} is {'a recording' if folder == place else f'inside the recording {folder.name!r}'}",
                why="a recording's folder holds its own events and nothing else",
                hint="write next to it, into the folder around it",
            )


def check_place(out: Path) -> None:
    """Check that a recording may be written at `out`; nothing changes.

    Raises:
        BadValue: `out` is named as an archive, is inside a recording, or holds something that is not a recording.
        UnreadableInput: there is a file of that name.
    """
    require_outside(out)
    if out.suffix == ".zip":
        raise BadValue(
            what=f"a recording's folder cannot be called {str(out)!r}",
            why="a name that ends with .zip is an archive's, made by pack",
            hint=f"write to {out.with_suffix('').name!r} and pack it afterwards",
        )
    if out.is_dir():
        # Other programs call a file manifest.json too: a folder is only replaced when a recording is all it holds.
        names = {item.name for item in out.iterdir()}
        if names and not ((out / MANIFEST).is_file() and names <= {MANIFEST, EVENTS, ".DS_Store"}):
            raise BadValue(
                what=f"the folder {str(out)!r} holds something that is not a recording",
                why="only an empty folder or an earlier recording, with nothing else in it, is written over",
                hint="choose another name, such as run.kvrec",
            )
    elif out.exists() or out.is_symlink():
        raise unwritable(out, "there is a file of that name")


def new_next_to(out: Path, manifest_text: str) -> Path:
    """Make a hidden folder next to `out` with the manifest and an empty folder for events; return it.

    Raises:
        UnreadableInput: the folder cannot be made.
    """
    new = out.parent / f".{out.name}{_NEW}{secrets.token_hex(4)}"
    try:
        (new / EVENTS).mkdir(parents=True)
        (new / MANIFEST).write_text(manifest_text, encoding="utf-8")
    except OSError as error:
        shutil.rmtree(new, ignore_errors=True)
        raise unwritable(out, reason(error)) from None
    return new


def building_place(out: Path) -> Path:
    """Return where the recording that will be `out` is built: there, when nothing is lost by that, else at `NAME.unfinished.kvrec` next to it."""
    if not (out / MANIFEST).exists():
        return out
    return next(place for number in count(1) if not (place := building_name(out, number)).exists())


def building_name(out: Path, number: int = 1) -> Path:
    """Return the name next to `out` under which a recording is built, the one of that number."""
    return out.with_name(f"{out.stem}.unfinished{f'-{number}' if number > 1 else ''}{out.suffix}")


def recorded_in(error: BaseException) -> Path | None:
    """Return where what was recorded until an error is kept; None when nothing is."""
    return error.__dict__.get("recorded_in")


def keep_with(error: BaseException, built: Path, out: Path) -> None:
    """Add to an error that what was recorded until then, to become `out`, is kept in `built`."""
    error.__dict__["recorded_in"] = built
    error.add_note(f"what was recorded until here is in {built}" + ("" if built == out else f"; the earlier recording {out} is as it was"))


def put_in_place(new: Path, out: Path) -> None:
    """Give the folder `new` the name `out`; an earlier recording there is removed afterwards.

    Raises:
        UnreadableInput: the name cannot be given; then both are where they were.
    """
    if new == out:
        return
    aside = out.parent / f".{out.name}{_ASIDE}{secrets.token_hex(4)}"
    try:
        if out.is_dir():
            out.rename(aside)
        new.rename(out)
    except OSError as error:
        raise unwritable(out, reason(error)) from None
    finally:
        # also after an interruption between the two
        if aside.exists() and out.exists():
            shutil.rmtree(aside, ignore_errors=True)
        elif aside.exists():
            aside.rename(out)


def left_aside(out: Path) -> list[Path]:
    """Return the earlier recordings of the name `out` that a kill between two renames left under a hidden name; none while there is one at `out`."""
    return [] if out.exists() else sorted(path for path in out.parent.glob(f".{escape(out.name)}{_ASIDE}*") if (path / MANIFEST).is_file())


def restore_left(out: Path) -> None:
    """Give an earlier recording its name `out` again when a kill took it, and remove what was never whole; only for who alone writes there.

    Raises:
        OSError: the system refuses.
    """
    for earlier in left_aside(out)[-1:]:
        earlier.rename(out)
    for begun in out.parent.glob(f".{escape(out.name)}{_NEW}*"):
        shutil.rmtree(begun, ignore_errors=True)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file of a recording so that a reader, or a kill, sees the old contents or the new ones and nothing between.

    Raises:
        UnreadableInput: the file cannot be written.
    """
    with replaced(path, durable=False) as file:
        file.write(data)
