from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kvlab

Kvlab = Callable[..., Any]


@pytest.mark.parametrize("command", ["run", "twin"])
def test_call_sites_are_recorded_when_asked_for(kvlab_says: Kvlab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.setattr(kvlab, "open", lambda *_, **__: kvlab.twin("smollm2"))
    for words, recorded in (((), False), (("--call-sites",), True)):
        out = tmp_path / f"{command}{len(words)}.kvrec"
        assert kvlab_says(command, "repeat:2", "--out", out, "--json", *words).code == 0
        assert bool(kvlab.load(out).events["call_site"].drop_nulls().len()) is recorded
