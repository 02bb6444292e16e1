"""The headers of safetensors files, checked before a net is built: the error for a damaged file names the file, not a net that cannot be built.

A file begins with the length of its header (8 bytes, little-endian) and the header itself: JSON with each tensor's place behind it.
Source: the public format of safetensors.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO, cast

from kvlab.errors import UnreadableInput

MOST_HEADER = 100_000_000
"""Bytes of a header at most, as in the format's own readers."""

POINTER = b"version https:"
"""What a file of Git LFS begins with while its contents were not fetched: read as a length, no header is so long."""


def require_whole(files: Sequence[Path]) -> None:
    """Check that each file's header can be read and that its tensors are within the file; no weight is read.

    Raises:
        UnreadableInput: a file is damaged, cut short, or was not fetched.
    """
    for file in files:
        why = _damage(file)
        if why:
            raise UnreadableInput(what=f"{file}: the file's header is damaged", why=why, hint="get the file anew")


def _damage(file: Path) -> str:
    """Return what is wrong with a file; "" when nothing is."""
    try:
        with file.open("rb") as opened:
            return _damage_within(opened, file.stat().st_size)
    except OSError as error:
        return error.strerror or str(error)


def _damage_within(file: BinaryIO, size: int) -> str:
    begin = file.read(len(POINTER))
    if begin == POINTER:
        return "it is a pointer of Git LFS; the weights themselves were not fetched"
    if len(begin) < 8:
        return f"it has {size} bytes, and the length of its header takes 8"
    (length,) = struct.unpack("<Q", begin[:8])
    if not 2 <= length <= min(MOST_HEADER, size - 8):
        return f"its first 8 bytes say that the header has {length:,} bytes; the file has {size:,}"
    file.seek(8)
    try:
        header: object = json.loads(file.read(length))
    except (ValueError, RecursionError) as error:
        return f"it is no JSON: {error}"
    return _places(cast("dict[str, Any]", header), size - 8 - length) if isinstance(header, dict) else "it holds no object"


def _places(tensors: dict[str, Any], room: int) -> str:
    for name, tensor in tensors.items():
        if name == "__metadata__":
            continue
        place: object = cast("dict[str, Any]", tensor).get("data_offsets") if isinstance(tensor, dict) else None
        ends = cast("list[object]", place) if isinstance(place, list) else []
        if len(ends) != 2 or not all(type(end) is int and end >= 0 for end in ends):
            return f"it gives no position for the tensor {name}"
        if cast("int", ends[1]) > room:
            return f"the tensor {name} ends at byte {ends[1]:,} of the data, and the file has {room:,}: it was cut short"
    return ""
