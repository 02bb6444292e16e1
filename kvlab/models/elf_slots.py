"""Finds where a loaded Linux library keeps the addresses of the functions it calls, and writes other addresses there.

A shared library calls a function of another library through a slot that the dynamic linker fills in. The file's relocation
table says where the slots are; `/proc/self/maps` says where the file was mapped. 64-bit little-endian x86-64 and aarch64.
Invariant: a page's protection is the same after a write as before it.
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

MAPS = Path("/proc/self/maps")
RELOCATIONS = {62: (1, 6, 7), 183: (257, 1025, 1026)}
"""By machine (x86-64, aarch64): relocations that put a function's address into a slot (absolute, GLOB_DAT, JUMP_SLOT)."""

_LOAD, _DYNAMIC = 1, 2
_PLT_SIZE, _STRINGS, _SYMBOLS, _RELA, _RELA_SIZE, _PLT = 2, 5, 6, 7, 8, 23
_ENTRY = 24


@dataclass(frozen=True, slots=True)
class Mapping:
    """A line of `/proc/self/maps`: addresses [start, end), its protection bits, and which file from which offset."""

    start: int
    end: int
    protection: int
    offset: int
    path: str


def mappings() -> list[Mapping]:
    """Return what is mapped into this process now."""
    found: list[Mapping] = []
    for line in MAPS.read_text(encoding="utf-8").splitlines():
        addresses, flags, offset, _, _, *path = line.split(maxsplit=5)
        start, _, end = addresses.partition("-")
        bits = sum(bit for bit, flag in zip((1, 2, 4), flags, strict=False) if flag != "-")
        found.append(Mapping(int(start, 16), int(end, 16), bits, int(offset, 16), path[0] if path else ""))
    return found


def slots(library: str, names: Collection[str]) -> dict[str, list[int]]:
    """Return the addresses of the slots of each of the functions `names` that the loaded file `library` calls.

    Args:
        library: The file's name, such as `libmlx.so`.
        names: Function names; those the library does not import are left out.

    Raises:
        LookupError: no such file is mapped, or it is for a machine that is not known here.
    """
    first = next((one for one in mappings() if Path(one.path).name == library and one.offset == 0), None)
    if first is None:
        raise LookupError(f"{library} is not loaded")
    image = _Image(Path(first.path).read_bytes())
    found: dict[str, list[int]] = {}
    for name, address in image.imports():
        if name in names:
            found.setdefault(name, []).append(first.start - image.first_page + address)
    return found


def read(slot: int) -> int:
    """Return the address that the slot holds."""
    return ctypes.c_uint64.from_address(slot).value


def write(slot: int, address: int) -> None:
    """Put `address` into the slot, opening its page for the moment of the write.

    Raises:
        OSError: the page's protection cannot be changed.
    """
    page = next(one for one in mappings() if one.start <= slot < one.end)
    writable = page.protection | 2
    if page.protection != writable:
        _protect(slot, writable)
    try:
        ctypes.c_uint64.from_address(slot).value = address
    finally:
        if page.protection != writable:
            _protect(slot, page.protection)


def _protect(slot: int, protection: int) -> None:
    size = os.sysconf("SC_PAGESIZE")
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(slot // size * size), ctypes.c_size_t(size), ctypes.c_int(protection)) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


class _Image:
    """An ELF file's bytes, read through its program headers (section headers may have been stripped)."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        (self._machine,) = struct.unpack_from("<H", data, 18)
        if data[:6] != b"\x7fELF\x02\x01" or self._machine not in RELOCATIONS:
            raise LookupError("the library is not a 64-bit x86-64 or aarch64 ELF file")
        (headers,) = struct.unpack_from("<Q", data, 32)
        size, count = struct.unpack_from("<HH", data, 54)
        entries = [struct.unpack_from("<IIQQQQQQ", data, headers + size * at) for at in range(count)]
        self._segments = [(entry[3], entry[2], entry[5]) for entry in entries if entry[0] == _LOAD]
        self._dynamic = dict(self._tags(next(entry for entry in entries if entry[0] == _DYNAMIC)))
        self.first_page = self._segments[0][0] // 4096 * 4096

    def imports(self) -> Iterator[tuple[str, int]]:
        """Yield (symbol name, slot address before the file was moved to its place)."""
        wanted = RELOCATIONS[self._machine]
        symbols, strings = (self._place(self._dynamic[tag]) for tag in (_SYMBOLS, _STRINGS))
        for table, size in ((_PLT, _PLT_SIZE), (_RELA, _RELA_SIZE)):
            if table not in self._dynamic:
                continue
            start = self._place(self._dynamic[table])
            for address, info, _ in struct.iter_unpack("<QQq", self._data[start : start + self._dynamic[size]]):
                if info & 0xFFFFFFFF in wanted and info >> 32:
                    (name,) = struct.unpack_from("<I", self._data, symbols + _ENTRY * (info >> 32))
                    begin = strings + name
                    yield self._data[begin : self._data.index(b"\0", begin)].decode(), address

    def _tags(self, header: tuple[int, ...]) -> Iterator[tuple[int, int]]:
        for tag, value in struct.iter_unpack("<QQ", self._data[header[2] : header[2] + header[5]]):
            if tag == 0:
                return
            yield tag, value

    def _place(self, address: int) -> int:
        """Return where in the file the byte at `address` is."""
        for start, offset, size in self._segments:
            if start <= address < start + size:
                return address - start + offset
        raise LookupError(f"address {address:#x} is in no segment of the file")
