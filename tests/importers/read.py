"""Fixtures by name, and what a test asks of an import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from kvlab.importers import Imported, import_file
from kvlab.recording import Recording

FIXTURES = Path(__file__).parents[1] / "fixtures"
GIB, MIB, GB = 2**30, 2**20, 10**9


def read(name: str, kind: str | None = None) -> Imported:
    return import_file(FIXTURES / name, kind)


def gib(count: float) -> int:
    return round(count * GIB)


def mib(count: float) -> int:
    return round(count * MIB)


def rows(recording: Recording, kind: str, *names: str) -> list[tuple[Any, ...]]:
    """The events of one kind, with these columns."""
    return recording.events.filter(pl.col("kind") == kind).select(names).rows()


def requests(recording: Recording, *names: str) -> list[tuple[Any, ...]]:
    return recording.requests.select(names).rows()


def observed(recording: Recording, gauge: str, *names: str) -> list[tuple[Any, ...]]:
    return recording.observed.filter(pl.col("gauge") == gauge).select(names or ("value",)).rows()
