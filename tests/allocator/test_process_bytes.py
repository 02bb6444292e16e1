"""What the system says that this process holds."""

from __future__ import annotations

import ctypes
import mmap
import os
import platform
import struct
from typing import Any

import numpy as np
import psutil
import pytest

from kvlab.allocator.process_bytes import own_footprint, read_resident, read_rusage
from kvlab.units import MIB

TELLS = pytest.mark.skipif(platform.system() not in {"Linux", "Darwin"}, reason="only Linux and macOS tell a footprint")


@TELLS
def test_the_footprint_lies_between_nothing_and_what_the_machine_has() -> None:
    footprint = own_footprint()
    assert footprint is not None
    assert 0 < footprint <= psutil.virtual_memory().total + psutil.swap_memory().total


@TELLS
def test_the_footprint_grows_by_pages_that_are_written() -> None:
    # mapped anew: an array may be given pages that were written and freed before
    with mmap.mmap(-1, 64 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as held:
        before = own_footprint()
        np.frombuffer(held, np.uint8)[:] = 1
        after = own_footprint()
    assert before is not None
    assert after is not None
    # what else the process gives back meanwhile is far less than half of it
    assert after - before > 32 * MIB


class _Library:
    """Stands in for macOS's library: writes an answer as `<sys/resource.h>` lays it out."""

    def __init__(self, answer: int) -> None:
        self.answer = answer
        self.asked: list[tuple[int, int]] = []

    def proc_pid_rusage(self, pid: int, flavour: int, into: Any) -> int:
        self.asked.append((pid, flavour))
        resident, footprint = 5000, 7000
        ctypes.memmove(into, struct.pack("=16s10Q", b"u" * 16, 1, 2, 3, 4, 5, 6, resident, footprint, 9, 10), 96)
        return self.answer


def test_macos_tells_the_physical_footprint_and_the_resident_bytes() -> None:
    library = _Library(0)
    read = read_rusage(42, library)
    assert (read.footprint, read.resident) == (7000, 5000)
    assert library.asked == [(42, 0)]


def test_a_refused_answer_and_a_system_without_the_call_leave_resident_bytes() -> None:
    gone = 2**22 + 5
    for library in (_Library(-1), object()):
        assert read_rusage(gone, library) == read_resident(gone)
    assert read_rusage(os.getpid(), object()).footprint is None


def test_a_system_that_tells_none_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "system", lambda: "Windows")
    assert own_footprint() is None
