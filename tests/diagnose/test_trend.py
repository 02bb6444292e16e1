from __future__ import annotations

import numpy as np
import pytest

from kvlab.diagnose.trend import MOST_POINTS, theil_sen


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
