from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Generator

import mlx.core as mx
import numpy as np
import pytest

from kvlab.errors import BadValue
from kvlab.models import blas, elf_slots

pytestmark = pytest.mark.skipif(sys.platform == "darwin", reason="macOS has its own fast BLAS; needs Linux")


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """Begin with MLX's own product, and end with the fast one, for the tests that follow."""
    monkeypatch.delenv(blas.SWITCH, raising=False)
    blas.undo()
    yield
    monkeypatch.undo()
    blas.undo()
    blas.route()


def held() -> dict[str, list[int]]:
    return {name: [elf_slots.read(slot) for slot in slots] for name, slots in elf_slots.slots(blas.LIBRARY, blas.PRODUCTS).items()}


def test_every_product_is_routed_and_agrees_with_numpy() -> None:
    before = held()
    status = blas.route()
    after = held()
    assert status.used == "scipy-openblas32"
    assert set(before) == set(blas.PRODUCTS)
    assert all(before[name] != after[name] for name in before)
    assert blas.disagreement() is None


def test_a_product_after_routing_equals_numpy() -> None:
    blas.route()
    random = np.random.default_rng(5)
    left, right = (random.standard_normal(shape).astype(np.float32) for shape in ((50, 70), (70, 90)))
    with mx.stream(mx.cpu):
        got = np.array(mx.array(left) @ mx.array(right))
    assert np.allclose(got, left.astype(np.float64) @ right, atol=1e-4)


def test_routing_twice_is_routing_once() -> None:
    first = blas.route()
    routed = held()
    assert blas.route() is first
    assert held() == routed


def test_the_switch_leaves_mlx_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    before = held()
    monkeypatch.setenv(blas.SWITCH, "off")
    assert blas.route().used == "bundled"
    assert "off" in blas.route().detail
    assert held() == before


def test_a_switch_that_means_nothing_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(blas.SWITCH, "maybe")
    with pytest.raises(BadValue, match="maybe"):
        blas.route()


def test_a_wrong_product_is_undone_and_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    # a C function that takes any arguments and writes nothing
    idle = ctypes.cast(ctypes.CDLL(None).getpid, ctypes.c_void_p).value
    monkeypatch.setattr(blas, "_addresses", lambda _: dict.fromkeys(blas.PRODUCTS, idle))
    before = held()
    status = blas.route()
    assert status.used == "bundled"
    assert "undone" in status.detail
    assert "differs from NumPy" in status.detail
    assert held() == before
    assert blas.disagreement() is None


def test_a_library_without_the_products_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    found = list(blas.candidates())
    nothing = blas.Candidate("openblas", found[0].path, prefix="no_such_")
    monkeypatch.setattr(blas, "candidates", lambda: iter([nothing, found[0]]))
    status = blas.route()
    assert status.used == found[0].name
    assert "no_such_cblas_sgemm" in status.detail


def test_without_any_library_the_hint_names_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blas, "candidates", lambda: iter(()))
    assert "scipy-openblas32" in blas.route().detail


@pytest.mark.parametrize(("cpus", "threads"), [({0}, 1), ({0, 1}, 1), ({0, 1, 2, 3, 4, 5}, 3)])
def test_half_of_the_cpus_compute(monkeypatch: pytest.MonkeyPatch, cpus: set[int], threads: int) -> None:
    monkeypatch.delenv(blas.THREADS, raising=False)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: cpus)
    assert f"{threads} thread(s)" in blas.route().detail
    library = ctypes.CDLL(next(blas.candidates()).path)
    assert library.scipy_openblas_get_num_threads() == threads


def test_the_users_own_number_of_threads_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    library = ctypes.CDLL(next(blas.candidates()).path)
    before = library.scipy_openblas_get_num_threads()
    monkeypatch.setenv(blas.THREADS, "7")
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(2 * before + 2)))
    assert "7 thread(s)" in blas.route().detail
    assert library.scipy_openblas_get_num_threads() == before


def test_page_protection_is_as_before() -> None:
    slot = elf_slots.slots(blas.LIBRARY, blas.PRODUCTS)["cblas_sgemm"][0]

    def protection() -> int:
        return next(one.protection for one in elf_slots.mappings() if one.start <= slot < one.end)

    before = protection()
    elf_slots.write(slot, elf_slots.read(slot))
    assert protection() == before


def test_a_library_that_is_not_loaded_is_an_error() -> None:
    with pytest.raises(LookupError, match="not loaded"):
        elf_slots.slots("libno-such-library.so", blas.PRODUCTS)
