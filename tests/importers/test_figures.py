"""Figures as people and tools write them."""

from __future__ import annotations

import pytest

from kvlab.importers.figures import read_duration, read_figure

GB, GIB, MIB, KIB = 10**9, 2**30, 2**20, 2**10


@pytest.mark.parametrize(
    ("text", "count", "step"),
    [
        ("18 GB", 18 * GB, GB),
        ("7.4 GB", 7_400_000_000, 100_000_000),
        ("16.96 GiB", round(16.96 * GIB), round(GIB / 100)),
        ("~24 GB", 24 * GB, GB),
        (">=27 GB", 27 * GB, GB),
        ("≈ 24 GB", 24 * GB, GB),
        ("**74.6 GB**", 74_600_000_000, 100_000_000),
        ("**~74.6 GB**", 74_600_000_000, 100_000_000),
        ("`1 MB`", 10**6, 10**6),
        ("32,4 GB", 32_400_000_000, 100_000_000),
        ("23,140 GB", 23_140_000_000, 1_000_000),
        ("1,371,136 KB", 1_371_136_000, 1000),
        ("1.371.136 KB", 1_371_136_000, 1000),
        ("17,068 KiB", 17_068 * KIB, KIB),
        ("1,234.5 MB", 1_234_500_000, 100_000),
        ("1.234,5 MB", 1_234_500_000, 100_000),
        ("-51.56GB", -51_560_000_000, 10_000_000),
        ("\u22123 MiB", -3 * MIB, MIB),
        ("+0.0G", 0, round(GIB / 10)),
        ("20.5G", round(20.5 * GIB), round(GIB / 10)),
        ("512.0M", 512 * MIB, round(MIB / 10)),
        ("0K", 0, KIB),
        ("871.25M", round(871.25 * MIB), round(MIB / 100)),
        ("0 B", 0, 1),
        ("-32 KB", -32_000, 1000),
        ("1.5e3 MB", 1_500_000_000, 100_000),
    ],
)
def test_bytes(text: str, count: int, step: int) -> None:
    figure = read_figure(text)
    assert figure is not None
    assert (figure.observed, figure.number) == (count, None)
    assert figure.step == step


@pytest.mark.parametrize(
    ("text", "number", "unit"),
    [
        ("182", 182.0, ""),
        ("1,024", 1024.0, ""),
        ("131,072", 131_072.0, ""),
        ("13,35", 13.35, ""),
        ("0,999", 0.999, ""),
        ("58.7 tok/s", 58.7, "tok/s"),
        ("182 s", 182.0, "s"),
        ("~182 s", 182.0, "s"),
        ("2m1.63s", 121.63, "s"),
        ("3m47s", 227.0, "s"),
        ("50.417µs", 50.417e-6, "s"),
        ("900ms", 0.9, "s"),
        ("62%", 62.0, "%"),
        ("1.5e9", 1.5e9, ""),
    ],
)
def test_other_figures(text: str, number: float, unit: str) -> None:
    figure = read_figure(text)
    assert figure is not None
    assert figure.observed is None
    assert figure.number == pytest.approx(number)
    assert figure.unit == unit


def test_the_unit_of_the_heading_is_for_bare_numbers_only() -> None:
    assert [figure.observed if (figure := read_figure(text, "gb")) else None for text in ("18", "18 MB", "0")] == [18 * GB, 18 * 10**6, 0]


@pytest.mark.parametrize("text", ["", "GB", "D07", "27b-mlx", "true", "62%/38% CPU/GPU", "NaN GB", "inf", "1e999", "1 2", "--3", "Forever", "9" * 80, "1e9e9"])
def test_no_figures(text: str) -> None:
    assert read_figure(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"), [("5m0s", 300.0), ("14.86891275s", 14.86891275), ("1h2m3s", 3723.0), ("2562047h47m16.854775807s", 9223372036.854776)]
)
def test_go_durations(text: str, seconds: float) -> None:
    assert read_duration(text) == pytest.approx(seconds)
    assert read_duration(text + "x") is None
