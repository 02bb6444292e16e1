"""What later releases of Ollama print: the peak of a request with what is held after it, and the server's settings."""

from __future__ import annotations

from pathlib import Path

from kvlab.importers import import_file
from tests.importers.read import gib, observed, requests


def test_a_peak_with_what_is_held(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    stamp = "time=2026-09-21T10:00:0"
    path.write_text(
        f'{stamp}1.000Z level=INFO source=prefix_cache.go:125 msg="cache miss" total=600 matched=0 cached=0 left=600\n'
        f'{stamp}2.000Z level=INFO source=pipeline.go:90 msg=memory peak="17.84 GiB" held="16.90 GiB"\n'
    )
    rec = import_file(path).recording
    assert requests(rec, "tokens", "peak") == [(600, gib(17.84))]
    assert observed(rec, "held", "value", "request") == [(gib(16.9), 1)]


def test_settings_without_addresses(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_text(
        'time=2026-09-05T10:00:00.100+02:00 level=INFO source=routes.go:1933 msg="server config" '
        'env="map[HTTPS_PROXY: OLLAMA_CONTEXT_LENGTH:32768 OLLAMA_HOST:http://10.0.0.7:11434 OLLAMA_KEEP_ALIVE:5m0s OLLAMA_MAX_LOADED_MODELS:2]"\n'
    )
    rec = import_file(path).recording
    assert observed(rec, "setting", "label", "words") == [("OLLAMA_CONTEXT_LENGTH", "32768"), ("OLLAMA_KEEP_ALIVE", "5m0s"), ("OLLAMA_MAX_LOADED_MODELS", "2")]
