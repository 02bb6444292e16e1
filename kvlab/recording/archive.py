"""The files of a recording, in a folder or a zip archive: reading parts, writing a folder, packing.

Invariants: equal manifests and events give archives that are equal byte for byte; what is rewritten has its many small
parts joined into few; files that are not ours (what a kill left half written) are not looked at.
"""

from __future__ import annotations

import contextlib
import io
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import polars as pl

from kvlab.errors import UnreadableInput
from kvlab.output_file import FileKind, replacing, unwritable
from kvlab.packed import AT_WILL, MOST_RATIO
from kvlab.recording.by_kind import EventTables
from kvlab.recording.columns import SCHEMA
from kvlab.recording.manifest import Manifest
from kvlab.recording.parquet_footer import Size, size_of
from kvlab.recording.parts import checked, decode, encode, missing_name, part_number
from kvlab.recording.place import EVENTS, MANIFEST, check_place, new_next_to, put_in_place, require_outside
from kvlab.recording.writing import Writing
from kvlab.units import LARGEST, binary

ROWS_A_PART = 500_000
"""Events in a part that is rewritten."""

MOST_UNPACKED = 20
"""How many times its own size the files of an archive may take: parts are packed already."""

VALUES_AT_WILL, VALUES_A_BYTE = 1 << 24, 100
"""Values of any recording's table of events, and for each byte that is stored: recordings have up to 10, a table made to fill a machine 1,000."""

MOST_PART, MOST_ZIP = 1 << 28, 1 << 32
"""Bytes of a part, and of an archive, at most; both are held whole. Parts have some megabytes."""

MOST_GROUPS = 1 << 12
"""Groups of layers at most: a reader counts up to them."""

_RANGES = (
    {name: (-LARGEST // 2, LARGEST) for name, dtype in SCHEMA.items() if dtype == pl.Int64 and name != "observed"}
    | {"group": (-1, MOST_GROUPS)}
    | dict.fromkeys(("start", "end", "index", "live", "live_logical"), (0, LARGEST // 2))
)
"""What numbers of an event are between; the narrower ranges are of those that readers count up to or take for places."""

MOST_MISSING = 10
"""Parts missing in a row that are named one by one."""

MOST_MANIFEST = 1 << 20
"""Bytes of a manifest that are read at most."""

_EARLIEST = (1980, 1, 1, 0, 0, 0)


class Files(Protocol):
    """A recording's files by name, such as `events/part-000000-0badcafe.parquet`."""

    packed: int
    """Bytes of all files as they are stored."""

    def names(self) -> list[str]:
        """Return all names."""
        ...

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes; None when it is not there or cannot be read."""
        ...


class FolderFiles:
    """Files of a recording's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        # a stranger's folder may have a pipe or a device in it, which never ends
        self._names = [path.relative_to(folder).as_posix() for path in (folder / EVENTS).glob("*") if path.is_file()]
        self.packed = 0
        for name in self._names:
            # a run under way may rename what it has just written
            with contextlib.suppress(OSError):
                size = (folder / name).stat().st_size
                self.packed += size if part_number(name) is not None and size <= MOST_PART else 0

    def names(self) -> list[str]:
        """Return all names."""
        return self._names

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes; None when it is not there or cannot be read."""
        path = self._folder / name
        try:
            return path.read_bytes() if path.is_file() and path.stat().st_size <= _most(name) else None
        except OSError:
            return None


class ZipFiles:
    """Files of a packed recording. Those a file manager packed, one folder down, are found as well.

    Raises:
        zipfile.BadZipFile: the archive is cut short or is none, or its files are far more than it.
    """

    def __init__(self, data: bytes) -> None:
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except Exception as error:  # noqa: BLE001  the same
            msg = f"it is no whole archive: {error}"
            raise zipfile.BadZipFile(msg) from None
        inside = [name for name in self._zip.namelist() if name.rpartition("/")[2] == MANIFEST and name.count("/") <= 1]
        self.packed = len(data)
        if sum(item.file_size for item in self._zip.infolist()) > max(AT_WILL, MOST_UNPACKED * self.packed):
            msg = "it unpacks to far more than it is"
            raise zipfile.BadZipFile(msg)
        self._prefix = min(inside, key=len).removesuffix(MANIFEST) if inside else ""

    def names(self) -> list[str]:
        """Return all names."""
        return [name.removeprefix(self._prefix) for name in self._zip.namelist() if name.startswith(self._prefix)]

    def read(self, name: str) -> bytes | None:
        """Return a file's bytes; None when it is not there or cannot be read."""
        try:
            return self._zip.read(self._prefix + name) if self._zip.getinfo(self._prefix + name).file_size <= _most(name) else None
        except Exception:  # noqa: BLE001  a damaged archive raises whatever its bytes lead to
            return None


def _most(name: str) -> int:
    return MOST_MANIFEST if name == MANIFEST else MOST_PART


@dataclass(frozen=True, slots=True)
class Found:
    """What the parts hold: the events that can be read, and the names of parts that are missing or cannot."""

    events: EventTables
    damaged: tuple[str, ...]


def read_parts(files: Files, manifest: Manifest, *, made_here: bool = False) -> Found:
    """Read all parts in order. A part that is missing in between, or at the end of a complete recording, is damaged too.

    Args:
        files: Where they are.
        manifest: How many events they hold.
        made_here: This process wrote them: they are not bounded.

    Raises:
        UnreadableInput: they unpack to far more than they are stored in.
    """
    there: dict[int, str] = {}
    damaged: list[str] = []
    for name in sorted(files.names()):
        number = part_number(name)
        if number is None or number in there:
            # a damaged archive may call a part otherwise
            damaged += [name] if number is not None or _may_be_part(name) else []
        else:
            there[number] = name
    events = EventTables(_tables(files, there, damaged, made_here=made_here))
    if not damaged and manifest.events is not None and events.count < manifest.events:
        damaged.append(missing_name(len(there)))
    return Found(events, tuple(damaged))


def _tables(files: Files, there: dict[int, str], damaged: list[str], *, made_here: bool) -> Iterator[pl.DataFrame]:
    """Yield the parts that can be read, in order; name the others in `damaged`."""
    room = Size(max(VALUES_AT_WILL, VALUES_A_BYTE * files.packed), max(AT_WILL, MOST_RATIO * files.packed))
    before, seq = -1, -LARGEST
    for number, name in sorted(there.items()):
        damaged += [missing_name(gap) for gap in range(before + 1, min(number, before + 1 + MOST_MISSING))]
        if number - before - 1 > MOST_MISSING:
            damaged.append(f"{number - before - 1 - MOST_MISSING:,} more before {name}")
        before = number
        data = checked(name, files.read(name))
        size = None if data is None else Size(0, 0) if made_here else _size(data)
        room = room if size is None else _less(room, size, name)
        table = None if data is None or size is None else decode(data)
        first, last = (None, None) if table is None else table.select(pl.col("seq").min(), last=pl.col("seq").max()).row(0)
        if table is None or (first is not None and first <= seq):
            # the events of a part follow those of the one before, whatever a file was renamed to
            damaged.append(name)
        else:
            seq = seq if last is None else last
            _require_in_range(table)
            yield table


def _require_in_range(events: pl.DataFrame) -> None:
    """Refuse numbers that no run has; readers count up to some of them.

    Raises:
        UnreadableInput: there is one.
    """
    extremes = events.select(
        *(pl.col(name).min().alias(f"{name} least") for name in _RANGES), *(pl.col(name).max().alias(f"{name} most") for name in _RANGES)
    ).row(0, named=True)
    for name, (least, most) in _RANGES.items():
        for value in (extremes[f"{name} least"], extremes[f"{name} most"]):
            if value is not None and not least <= value <= most:
                raise UnreadableInput(
                    what=f"the recording's column {name} holds {value:,}",
                    why=f"it is from {least:,} to {most:,} in any run",
                    hint="get the recording again; what made this one is not kvlab, or it was damaged",
                )


def _may_be_part(name: str) -> bool:
    last = name.rpartition("/")[2]
    return not last.startswith(".") and ("part-" in last or last.endswith(".parquet"))


def _size(data: bytes) -> Size | None:
    """Return what a part unpacks to; None of a damaged one, of which nothing is read."""
    try:
        return size_of(data)
    except ValueError:
        return None


def _less(room: Size, size: Size, name: str) -> Size:
    """Return what is left of the room for values and bytes after a part."""
    left = Size(room.values - size.values, room.bytes - size.bytes)
    if min(left) < 0:
        raise UnreadableInput(
            what=f"the recording's part {name} unpacks to {size.values:,} values and {binary(size.bytes)}",
            why=f"all parts may have {VALUES_AT_WILL:,} values and {binary(AT_WILL)}, or {VALUES_A_BYTE} values and {MOST_RATIO} bytes for each byte "
            "stored if that is more; a recording has far fewer",
            hint="get the recording again; what made this one is not kvlab",
        )
    return left


def write_folder(out: Path, manifest: Manifest, events: EventTables) -> None:
    """Write a recording's folder; an earlier recording there is replaced when the new one is whole.

    Raises:
        BadValue: `out` holds something that is not a recording.
        UnreadableInput: `out` cannot be written, or a run is writing there.
    """
    check_place(out)
    with contextlib.closing(Writing(out)):
        new = new_next_to(out, manifest.to_json())
        try:
            for name, data in _parts(events):
                (new / name).write_bytes(data)
            put_in_place(new, out)
        except BaseException as error:
            shutil.rmtree(new, ignore_errors=True)
            if isinstance(error, OSError):
                raise unwritable(out, str(error)) from None
            raise


def write_zip(out: Path, manifest: Manifest, events: EventTables, *, force: bool = False) -> None:
    """Write a recording as an archive; an earlier one there is replaced when the new one is whole.

    Raises:
        BadValue: `out` is inside a recording's folder, or a file that is no packed recording is there and it is not forced.
        UnreadableInput: `out` cannot be written.
    """
    require_outside(out)
    with contextlib.suppress(OSError):
        out.parent.mkdir(parents=True, exist_ok=True)
    # an archive is written back and forth, which a pipe cannot be
    buffer = io.BytesIO()
    with replacing(out, PACKED, force=force) as file, zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in [*_parts(events), (MANIFEST, manifest.to_json().encode())]:
            entry = zipfile.ZipInfo(name, date_time=_EARLIEST)
            entry.create_system = 3  # else the bytes would differ between Windows and the others
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, data)
        archive.close()
        file.write(buffer.getbuffer())


def _is_packed(path: Path) -> bool:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            about = archive.read(MANIFEST) if MANIFEST in names and archive.getinfo(MANIFEST).file_size <= MOST_MANIFEST else b""
    except Exception:  # noqa: BLE001  whatever it is, it is not ours
        return False
    return b'"kvlab"' in about and b'"schema"' in about and all(name == MANIFEST or part_number(name) is not None for name in names)


PACKED = FileKind("a packed recording", _is_packed)


def _parts(events: EventTables) -> Iterator[tuple[str, bytes]]:
    for number, some in enumerate(events.slices(ROWS_A_PART)):
        # A table in several chunks would be written as several row groups: the bytes would depend on the chunks.
        yield encode(number, some.wide().rechunk())
