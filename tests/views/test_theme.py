"""Colours read on white and on JupyterLab's dark ground; contrast is computed as WCAG 2 defines it."""

from __future__ import annotations

import altair as alt
import pytest

from kvlab.shape import KINDS
from kvlab.views import theme

PAPERS = ("#ffffff", "#111111")


def luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_contrast_of_black_on_white_is_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("paper", PAPERS)
@pytest.mark.parametrize("colour", sorted({*theme.OWNERS.values(), *theme.KINDS.values(), *theme.STATES.values(), theme.INK}))
def test_every_colour_stands_out_from_both_papers(colour: str, paper: str) -> None:
    assert contrast(colour, paper) >= 3


@pytest.mark.parametrize("paper", PAPERS)
def test_lines_in_a_halo_show_on_any_ground(paper: str) -> None:
    for ground in (paper, *theme.OWNERS.values()):
        assert max(contrast(theme.CORE, ground), contrast(theme.HALO, ground)) >= 3


@pytest.mark.parametrize("palette", [theme.OWNERS, theme.KINDS, theme.STATES])
def test_no_colour_means_two_things_in_one_legend(palette: dict[str, str]) -> None:
    assert len(set(palette.values())) == len(palette)


def test_every_layer_kind_has_a_colour() -> None:
    assert set(theme.KINDS) == set(KINDS)


def test_the_theme_is_registered_and_not_enabled() -> None:
    assert theme.NAME in alt.theme.names()
    assert alt.theme.active != theme.NAME


def test_a_specification_carries_the_theme_and_leaves_the_active_one() -> None:
    before = alt.theme.active
    made = theme.spec(alt.Chart(alt.Data(values=[])).mark_point())
    assert made["config"]["background"] == "transparent"
    assert made["config"]["axis"]["labelColor"] == theme.INK
    assert alt.theme.active == before
