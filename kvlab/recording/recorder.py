"""Recorder: stores events as they happen, so that a killed run loses at most its last second or request."""

from __future__ import annotations

import dataclasses
import shutil
import weakref
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl

from kvlab.errors import followed
from kvlab.events import Event, RequestClosed
from kvlab.recording.archive import FolderFiles, read_parts
from kvlab.recording.manifest import Manifest
from kvlab.recording.parts import MOST_WAITING, PartWriter
from kvlab.recording.place import MANIFEST, building_place, check_place, keep_with, new_next_to, put_in_place, replace_file
from kvlab.recording.recording import Recording
from kvlab.recording.writing import Writing
from kvlab.temporary import TemporaryFolder, is_temporary


class Recorder:
    """Writes events into a recording's folder.

    Attributes:
        manifest: What the recording says about itself.
        path: The folder in which it is.
    """

    def __init__(self, manifest: Manifest, out: str | Path | None = None, *, store_text: bool = False) -> None:
        """Begin a recording.

        Args:
            manifest: What made it; it is written before any event.
            out: The folder, by custom `NAME.kvrec`. An earlier recording there is replaced when this one is complete; until then this one is in
                `NAME.unfinished.kvrec`. None for a temporary folder that is removed when both this object and the Recording made from it have died.
            store_text: Keep prompts and answers (columns `token` and `text`); else they never reach the disk.

        Raises:
            BadValue: `out` holds something that is not a recording.
            UnreadableInput: `out` cannot be written, or another run is writing there.
        """
        self.manifest = dataclasses.replace(manifest, stored_text=store_text, events=None)
        self._folder: TemporaryFolder | None = None
        self._place: Writing | None = None
        if out is None:
            self._folder = TemporaryFolder()
            self.path = self._out = self._folder.path / "run.kvrec"
        else:
            self._out = followed(out)
            check_place(self._out)
            self._place = Writing(self._out)
            self.path = building_place(self._out)
        self._begin()
        self._writer = PartWriter(self.path, store_text=store_text)
        self._waiting = self._writer.waiting
        self._recording: Recording | None = None
        if is_temporary(self.path):
            # These parts cannot be found after a kill, so they are written only when many events wait.
            self._last_of_request: type[Event] | None = None
            self._finalizer = None
        else:
            self._last_of_request = RequestClosed
            self._finalizer = weakref.finalize(self, self._writer.abandon)
            self._writer.start_clock()

    def write(self, event: Event) -> None:
        """Store `event`. It is on disk within a second, and at once when it ends a request.

        Raises:
            UnreadableInput: a part cannot be written; its events are kept for the next try.
            RuntimeError: the recording is closed.
        """
        if self._recording is not None:
            msg = "this recording is closed"
            raise RuntimeError(msg)
        waiting = self._waiting
        waiting.append(event)
        if type(event) is self._last_of_request:
            self._writer.request_ended()
        elif len(waiting) >= MOST_WAITING:
            self._writer.flush()

    def write_table(self, table: pl.DataFrame) -> None:
        """Store many events at once, as a table with columns of `kvlab.recording.SCHEMA`, `kind` and `seq` among them; those it lacks are null.

        Raises:
            UnreadableInput: the part cannot be written.
        """
        self._writer.store(table)

    def flush(self) -> None:
        """Write what waits now.

        Raises:
            UnreadableInput: the part cannot be written.
        """
        self._writer.flush()

    def close(self, worth: Callable[[Recording], bool] = lambda _: True) -> Recording:
        """Write what waits, mark the recording as complete, and return it; a second call returns the same one.

        Args:
            worth: Whether the recording may take the place of an earlier one; else it stays where it was built.

        Raises:
            UnreadableInput: a part or the manifest cannot be written.
        """
        if self._recording is None:
            self._complete()
            found = read_parts(FolderFiles(self.path), self.manifest, made_here=True)
            made = Recording(self.manifest, found.events, path=self.path, damaged=found.damaged, folder=self._folder)
            if worth(made):
                self._put_in_place()
                made.path = self.path
            self._recording = made
            self._end_writing()
        return self._recording

    def finish(self) -> None:
        """Write what waits and mark the recording as complete, without reading it back: it may be larger than what should be held.

        Raises:
            UnreadableInput: a part or the manifest cannot be written.
        """
        self._complete()
        self._put_in_place()
        self._end_writing()

    def _begin(self) -> None:
        new = new_next_to(self.path, self.manifest.to_json())
        try:
            put_in_place(new, self.path)
        except BaseException:
            shutil.rmtree(new, ignore_errors=True)
            raise

    def _put_in_place(self) -> None:
        put_in_place(self.path, self._out)
        self.path = self._out

    def _complete(self) -> None:
        if self.manifest.events is None:
            self._writer.flush()
            self._stop()
            self.manifest = dataclasses.replace(self.manifest, events=self._writer.written)
            replace_file(self.path / MANIFEST, self.manifest.to_json().encode())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Close after success. After an error keep what was written as an incomplete recording; the error's notes say where."""
        if error is None:
            self.close()
        else:
            self._stop()
            try:
                self._writer.flush()
            finally:
                self._leave(error)
                self._end_writing()

    def _leave(self, error: BaseException) -> None:
        if self._place is None:
            return
        if self._writer.written:
            keep_with(error, self.path, self._out)
        else:
            shutil.rmtree(self.path, ignore_errors=True)

    def _end_writing(self) -> None:
        if self._place is not None:
            self._place.close()

    def _stop(self) -> None:
        self._writer.stop_clock()
        if self._finalizer is not None:
            self._finalizer.detach()
