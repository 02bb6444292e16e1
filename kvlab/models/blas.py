"""Gives MLX a fast matrix product on Linux CPUs.

MLX's Linux wheel carries a reference BLAS that is 20x too slow for float32. `route` points MLX's library at OpenBLAS instead:
the PyPI package scipy-openblas32, or one the system has. The result is checked against NumPy at once; a wrong one is undone.
`KVLAB_BLAS=off` leaves MLX alone. On macOS MLX uses Apple's own library and nothing is done.

Invariants: routing happens at most once a process; after a failed check every slot holds what it held before.
"""

# pyright: standard
from __future__ import annotations

import ctypes
import ctypes.util
import importlib.util
import itertools
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvlab.errors import BadValue
from kvlab.models import elf_slots

if TYPE_CHECKING:
    import numpy as np

SWITCH = "KVLAB_BLAS"
THREADS = "OPENBLAS_NUM_THREADS"
"""OpenBLAS's own environment variable; when it is set, kvlab does not choose a number of threads."""

LIBRARY = "libmlx.so"
PRODUCTS = ("cblas_sgemm", "cblas_dgemm", "cblas_cgemm")
"""The functions that are routed: products of float32, float64 and complex64 matrices."""

FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/lib/openblas-pthread", "/opt/OpenBLAS/lib")

SHAPES = ((7, 33, 5), (37, 96, 130))
"""Rows, inner size, columns, checked with every number type."""

FLOAT32_SHAPES = ((1, 33, 5), (1, 576, 1536), (64, 64, 64), (128, 576, 257))
"""Those checked with float32 alone: one row, a square, a real model's sizes."""

TOLERANCE = {"float32": 2e-5, "float64": 1e-12, "complex64": 2e-5}
"""Largest difference allowed, as a share of the product of the operands' absolute values."""


@dataclass(frozen=True, slots=True)
class BlasStatus:
    """Which matrix product MLX uses (`used`: scipy-openblas32, openblas, bundled or accelerate) and why (`detail`)."""

    used: str
    detail: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A library with a matrix product: how it is called, its file, and what its function names begin with."""

    name: str
    path: str
    prefix: str = ""


_status: BlasStatus | None = None
_before: dict[int, int] = {}
_rounds = itertools.count(1)


def route() -> BlasStatus:
    """Point MLX at the first candidate that agrees with NumPy, once a process; return what is used.

    Raises:
        BadValue: the environment variable KVLAB_BLAS is neither empty, `on` nor `off`.
    """
    global _status  # noqa: PLW0603  the process has one libmlx, so it has one status
    if _status is None:
        _status = _routed()
    return _status


def undo() -> None:
    """Restore MLX's own matrix product; a later `route` starts over."""
    global _status  # noqa: PLW0603  see route
    for slot, address in _before.items():
        elf_slots.write(slot, address)
    _before.clear()
    _status = None


def candidates() -> Iterator[Candidate]:
    """Yield the libraries found on this machine, best first."""
    spec = importlib.util.find_spec("scipy_openblas32")
    if spec is not None and spec.origin is not None:
        for path in sorted((Path(spec.origin).parent / "lib").glob("libscipy_openblas*.so*")):
            yield Candidate("scipy-openblas32", str(path), "scipy_")
    if found := ctypes.util.find_library("openblas"):
        yield Candidate("openblas", found)
    for folder in (*FOLDERS, *(str(path) for path in Path("/usr/lib").glob("*-linux-gnu/openblas*"))):
        # a 64-bit-index build has the same names but other argument sizes
        for path in sorted(Path(folder).glob("libopenblas*.so*")):
            if "64" not in path.name:
                yield Candidate("openblas", str(path))


def default_threads() -> int:
    """Return half of the CPUs that this process may use, at least 1.

    OpenBLAS's threads spin while they wait for each other: with one on every CPU a machine that does anything else besides
    gets 10x slower, while the second thread of a core adds little.
    """
    return max(1, len(os.sched_getaffinity(0)) // 2)


def disagreement() -> str | None:
    """Return None when MLX's products agree with NumPy's for every shape and number type, else the first that does not.

    Plain, transposed and batched operands are checked. Each call draws other numbers: a product that writes nothing could
    otherwise find the last call's right answer in a recycled buffer.
    """
    import mlx.core as mx
    import numpy as np

    # made from a count of calls, so a run can be repeated
    random = np.random.default_rng(next(_rounds))
    cases = [*itertools.product(TOLERANCE, SHAPES), *itertools.product(("float32",), FLOAT32_SHAPES)]
    for kind, (rows, inner, columns) in cases:
        left = _draw(random, kind, (2, rows, inner))
        right = _draw(random, kind, (2, inner, columns))
        turned = np.ascontiguousarray(right.swapaxes(1, 2))
        with mx.stream(mx.cpu):
            first, second, across = (mx.array(values, dtype=getattr(mx, kind)) for values in (left, right, turned))
            products = (first[0] @ second[0], first[0] @ across[0].T, first @ across.swapaxes(1, 2))
            got = [np.array(product) for product in products]
        wide = "complex128" if kind == "complex64" else "float64"
        expected = left.astype(wide) @ right.astype(wide)
        scale = np.abs(left).astype("float64") @ np.abs(right).astype("float64")
        for product, at in zip(got, (0, 0, slice(None)), strict=True):
            apart = float(np.max(np.abs(product - expected[at]) / scale[at]))
            if not apart <= TOLERANCE[kind]:
                return f"a {kind} product of {rows}x{inner} and {inner}x{columns} differs from NumPy's by {apart:.1e} of its size"
    return None


def _routed() -> BlasStatus:
    import mlx.core  # noqa: F401  loads the library that is to be routed

    switch = os.environ.get(SWITCH, "").lower()
    if switch not in ("", "on", "off"):
        raise BadValue(what=f"{SWITCH} is {switch!r}", why="it may be on or off", hint=f"unset {SWITCH}, or set it to off")
    if sys.platform == "darwin":
        return BlasStatus("accelerate", "MLX uses Apple's Accelerate; nothing to route")
    if switch == "off":
        return BlasStatus("bundled", f"{SWITCH}=off: MLX keeps the BLAS of its wheel")
    try:
        slots = elf_slots.slots(LIBRARY, PRODUCTS)
    except (LookupError, OSError) as error:
        return BlasStatus("bundled", f"not routed: {error}")
    if not slots:
        return BlasStatus("bundled", f"not routed: {LIBRARY} calls no matrix product of another library")
    refused: list[str] = []
    for candidate in candidates():
        reason = _try(candidate, slots)
        if reason is None:
            threads = f"{os.environ.get(THREADS) or default_threads()} thread(s)"
            return BlasStatus(candidate.name, "; ".join([*refused, f"{candidate.path}, {threads}, agrees with NumPy"]))
        refused.append(f"{candidate.path} undone: {reason}")
    return BlasStatus("bundled", "; ".join(refused) or "no OpenBLAS found; install scipy-openblas32 for a 20x faster prefill")


def _try(candidate: Candidate, slots: dict[str, list[int]]) -> str | None:
    """Route to `candidate`; return None when it is right, else why it was undone."""
    try:
        addresses = _addresses(candidate)
        for name, places in slots.items():
            for slot in places:
                _before.setdefault(slot, elf_slots.read(slot))
                elf_slots.write(slot, addresses[name])
        wrong = disagreement()
    except (OSError, AttributeError) as error:
        wrong = str(error)
    if wrong is not None:
        undo()
    return wrong


def _addresses(candidate: Candidate) -> dict[str, int]:
    library = ctypes.CDLL(candidate.path)
    found: dict[str, int] = {}
    for name in PRODUCTS:
        address = ctypes.cast(getattr(library, candidate.prefix + name), ctypes.c_void_p).value
        if address is None:
            raise AttributeError(f"{candidate.path} has no {candidate.prefix}{name}")
        found[name] = address
    limit = getattr(library, f"{candidate.prefix}openblas_set_num_threads", None)
    if limit is not None and not os.environ.get(THREADS):
        limit(ctypes.c_int(default_threads()))
    return found


def _draw(random: np.random.Generator, kind: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    values = random.standard_normal(shape)
    if kind == "complex64":
        values = values + 1j * random.standard_normal(shape)
    return values.astype(kind)
