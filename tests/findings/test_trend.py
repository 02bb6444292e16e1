from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from kvlab.findings.growth import MOST_POINTS, theil_sen


def test_a_line_has_its_slope_and_no_width() -> None:
    x = np.arange(10.0)
    slope = theil_sen(x, 3 * x + 7)
    assert slope.value == pytest.approx(3)
    assert slope.low == pytest.approx(3)
    assert slope.high == pytest.approx(3)


def test_a_jump_and_an_outlier_do_not_tilt_a_flat_series() -> None:
    x = np.arange(20.0)
    y = np.where(x < 2, 0.0, 100.0)
    y[11] = 1e9
    slope = theil_sen(x, y)
    assert slope.value == 0
    assert slope.low <= 0 <= slope.high


def test_noise_around_zero_has_an_interval_that_holds_zero() -> None:
    x = np.arange(60.0)
    y = np.random.default_rng(5).normal(0, 100, 60)
    slope = theil_sen(x, y)
    assert slope.low < 0 < slope.high


def test_too_few_points_have_no_slope_and_many_are_thinned() -> None:
    assert theil_sen(np.zeros(1), np.zeros(1)).value == 0
    x = np.arange(3.0 * MOST_POINTS)
    assert theil_sen(x, 2 * x).value == pytest.approx(2)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.95 ** (1 / 26), 0.999])
@pytest.mark.parametrize("count", [5, 12, 45, 60])
def test_slope_and_interval_are_scipys(count: int, level: float) -> None:
    rng = np.random.default_rng(count)
    x, y = np.cumsum(rng.integers(1, 4, count)).astype(float), np.cumsum(rng.normal(3, 40, count))
    ours, (value, _, low, high) = theil_sen(x, y, level), stats.theilslopes(y, x, level)
    assert ours.value == pytest.approx(value)
    first, second = np.triu_indices(count, 1)
    slopes = np.sort((y[second] - y[first]) / (x[second] - x[first]))
    # the ends are rounded outwards, scipy's to the nearest pair
    for our, their in ((ours.low, low), (ours.high, high)):
        assert abs(int(np.abs(slopes - our).argmin()) - int(np.abs(slopes - their).argmin())) <= 1
    assert ours.low <= low <= high <= ours.high


def test_equal_prints_do_not_narrow_an_interval() -> None:
    y = np.floor(np.random.default_rng(3).normal(0, 2, 40))
    ours, (_, _, low, high) = theil_sen(np.arange(40.0), y), stats.theilslopes(y, np.arange(40.0))
    assert ours.low <= low <= high <= ours.high
