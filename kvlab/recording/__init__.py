"""Recordings: events stored in parts, tables folded from them, and any moment of a run looked at again.

A recording is a folder `NAME.kvrec` (or the same zipped): `manifest.json` and `events/part-*.parquet`. Events are the only
stored truth; the tables are computed from them.
"""

from __future__ import annotations

from kvlab.recording.columns import SCHEMA, frame
from kvlab.recording.load import load
from kvlab.recording.manifest import READABLE_SCHEMAS, SCHEMA_VERSION, Manifest
from kvlab.recording.moment import Moment
from kvlab.recording.recorder import Recorder
from kvlab.recording.recording import Recording

__all__ = ["READABLE_SCHEMAS", "SCHEMA", "SCHEMA_VERSION", "Manifest", "Moment", "Recorder", "Recording", "frame", "load"]
