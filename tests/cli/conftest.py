from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from kvlab.cli import main

CASES = Path(__file__).parents[1] / "cases"


@dataclass(frozen=True)
class Said:
    """What a command line left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        data: dict[str, Any] = json.loads(self.out)
        return data


Kvlab = Callable[..., Said]


@pytest.fixture
def kvlab_says(capsys: pytest.CaptureFixture[str]) -> Kvlab:
    """Run a command line in this process."""

    def run(*words: object) -> Said:
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Said(code, out, err)

    return run


@pytest.fixture
def cases() -> Path:
    return CASES
