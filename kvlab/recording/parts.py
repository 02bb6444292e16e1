"""Parts: the files in which a recording's events are stored, and the writer that fills them.

Invariants: part n holds the events that follow those of part n - 1; a part is either whole or not there; its name carries the
CRC-32 of its bytes, because parquet has no checksum and a damaged file can make a reader hang; the writer knows nothing of its
Recorder, so a forgotten Recorder dies and its last events are still written.
"""

from __future__ import annotations

import io
import re
import threading
import time
import zlib
from collections import deque
from pathlib import Path

import polars as pl

from kvlab.events import Event
from kvlab.recording.columns import conform, frame
from kvlab.recording.place import EVENTS, replace_file

WRITE_EVERY_S = 0.8
"""Seconds between two checks for waiting events. A part takes up to some tenths of a second, so nothing waits longer than one."""

MOST_WAITING = 16_000
"""Events that may wait; a part of so many takes 7 bytes an event, a part of 1,000 twice that."""

PARTS_AT_WILL = 256
"""Up to here every request's end makes a part; later ones only when `REST_S` have passed since the last."""

REST_S = 0.1

LAST_PART_S = 5.0
"""Seconds that a program's end waits for the last part."""

_NAME = re.compile(EVENTS + r"/part-(\d{6,12})-([0-9a-f]{8})\.parquet")


def missing_name(number: int) -> str:
    """Return what part `number` (from 0) is called when its bytes are not known."""
    return f"{EVENTS}/part-{number:06d}-*.parquet"


def part_number(name: str) -> int | None:
    """Return the number of the part called `name`; None for any other file, such as what a kill left half written."""
    found = _NAME.fullmatch(name)
    return int(found[1]) if found else None


def encode(number: int, table: pl.DataFrame) -> tuple[str, bytes]:
    """Return the name and the bytes of part `number` (from 0); equal tables give equal bytes."""
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", statistics=False)
    data = buffer.getvalue()
    return f"{EVENTS}/part-{number:06d}-{zlib.crc32(data):08x}.parquet", data


def checked(name: str, data: bytes | None) -> bytes | None:
    """Return the bytes of the part called `name` when its name carries their checksum, else None."""
    found = _NAME.fullmatch(name)
    return data if data is not None and found is not None and int(found[2], 16) == zlib.crc32(data) else None


def decode(data: bytes) -> pl.DataFrame | None:
    """Return the events in a part with these bytes; None when they are damaged."""
    try:
        return conform(pl.read_parquet(io.BytesIO(data), use_pyarrow=False))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return None


class PartWriter:
    """Events that wait, and the folder they go to.

    Attributes:
        waiting: Events not yet on disk, oldest first. Appending is safe while another thread writes a part.
        written: How many events are on disk.
        parts: How many parts are on disk.
    """

    def __init__(self, folder: Path, *, store_text: bool) -> None:
        self.waiting: deque[Event] = deque()
        self.written = 0
        self.parts = 0
        self._folder = folder
        self._store_text = store_text
        self._writing = threading.Lock()
        self._last = 0.0
        self._stop = threading.Event()
        self._clock: threading.Thread | None = None

    def flush(self) -> None:
        """Write what waits as one part. After an error it waits still.

        Raises:
            UnreadableInput: the part cannot be written.
        """
        with self._writing:
            waiting = self.waiting
            events = [waiting.popleft() for _ in range(len(waiting))]
            if not events:
                return
            try:
                name, data = encode(self.parts, frame(events, store_text=self._store_text))
                replace_file(self._folder / name, data)
            except BaseException:
                waiting.extendleft(reversed(events))
                raise
            self.parts += 1
            self.written += len(events)
            self._last = time.monotonic()

    def store(self, table: pl.DataFrame) -> None:
        """Write what waits, then a table of events as one part of its own. Columns it does not have are null.

        Raises:
            UnreadableInput: the part cannot be written.
        """
        self.flush()
        with self._writing:
            name, data = encode(self.parts, table)
            replace_file(self._folder / name, data)
            self.parts += 1
            self.written += table.height

    def request_ended(self) -> None:
        """Write what waits, unless thousands of short requests would make thousands of parts: then within a second."""
        if self.parts < PARTS_AT_WILL or time.monotonic() - self._last >= REST_S:
            self.flush()

    def start_clock(self) -> None:
        """Write what waits every `WRITE_EVERY_S` from now on, also while the program is silent inside a long forward."""
        self._clock = threading.Thread(target=self._write_every, name="kvlab-parts", daemon=True)
        self._clock.start()

    def stop_clock(self) -> None:
        """Let the clock write what waits one last time and stop; does not wait for it."""
        self._stop.set()

    def abandon(self) -> None:
        """Stop because the Recorder was forgotten or the program ends; what waits is still written."""
        self._stop.set()
        # The clock does the writing: this may run inside a garbage collection that interrupted a part half written.
        if self._clock is not None and self._clock is not threading.current_thread():
            self._clock.join(timeout=LAST_PART_S)

    def _write_every(self) -> None:
        stopped = False
        while not stopped:
            stopped = self._stop.wait(WRITE_EVERY_S)
            try:
                self.flush()
            except KeyboardInterrupt:
                # polars raises it in any thread in which it works when Ctrl-C comes; it is meant for the main one, and what waited waits still
                stopped = False
            except Exception:  # noqa: BLE001 - the Recorder's own next flush meets the same error and raises it where it is seen
                return
