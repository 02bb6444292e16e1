"""Servers' names for models find the shipped shape."""

from __future__ import annotations

import pytest

from kvlab.lab.shapes import shipped_for


@pytest.mark.parametrize(
    ("model", "shape"),
    [
        ("qwen3.8:27b-mlx", "qwen3.8-27b"),
        ("qwen3.6:35b-mlx", "qwen3.6-35b-a3b"),
        ("gemma4:31b-mlx", "gemma4-31b"),
        ("mlx-community/gemma4-26b-a4b-it-4bit", "gemma4-26b-a4b"),
        ("llama3.1:8b", "llama3.1-8b"),
        ("smollm2", "smollm2"),
        ("some-other:7b", None),
        ("mlx:latest", None),
        ("", None),
    ],
)
def test_a_name_finds_its_shape(model: str, shape: str | None) -> None:
    assert shipped_for(model) == shape
