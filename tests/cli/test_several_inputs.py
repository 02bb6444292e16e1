"""Commands that take a log and the samples beside it, pipes in the place of files, and what a block to paste leaves out."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

Kvlab = Callable[..., Any]
GB = 10**9


def _write(folder: Path, model: str = "lab:4b") -> tuple[Path, Path]:
    log, ps = folder / "server.log", folder / "ps.jsonl"
    stamp = "time=2026-09-20T10:{:02d}:{:02d}.000Z level=INFO source=x.go:1 "
    lines = [stamp.format(0, 0) + f'msg="starting mlx runner subprocess" model={model} port=60000']
    for minute in range(12):
        lines.append(stamp.format(minute, 1) + f'msg="cache miss" total={100 + minute} matched=0 cached=0 left={100 + minute}')
        lines.append(stamp.format(minute, 3) + 'msg="peak memory" size="17.84 GiB"')
    log.write_text("\n".join(lines) + "\n")
    answers = [
        f'{{"ts":"2026-09-20T10:{minute:02d}:30Z","body":{{"models":[{{"name":"{model}","size":{18 * GB},"size_vram":{18 * GB}}}]}}}}' for minute in range(12)
    ]
    ps.write_text("\n".join(answers) + "\n")
    return log, ps


def test_a_log_and_its_samples_are_one_recording(kvlab_says: Kvlab, tmp_path: Path) -> None:
    log, ps = _write(tmp_path)
    said = kvlab_says("import", log, ps, "-o", tmp_path / "r.kvrec", "--json").json
    assert (said["kind"], said["requests"], said["lines"]) == ("ollama-log", 12, 37)
    one, both = (kvlab_says("diagnose", *files, "--json").json["findings"] for files in ((tmp_path / "r.kvrec",), (ps, log)))
    assert one == both
    assert "No figures of a model's bytes" not in str(next(finding for finding in both if finding["question"] == "budget_or_leak"))
    assert kvlab_says("report", log, ps, "--markdown").code == 0


def test_a_recording_among_files_is_told(kvlab_says: Kvlab, tmp_path: Path) -> None:
    log, ps = _write(tmp_path)
    kvlab_says("import", log, "-o", tmp_path / "r.kvrec")
    said = kvlab_says("diagnose", tmp_path / "r.kvrec", ps)
    assert said.code == 2
    assert "--also" in said.err


def test_a_pipe_stands_for_a_file(kvlab_says: Kvlab, tmp_path: Path) -> None:
    log, _ = _write(tmp_path)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(log.read_bytes(),))
    writer.start()
    said = kvlab_says("diagnose", pipe, "--json")
    writer.join()
    assert said.json == kvlab_says("diagnose", log, "--json").json


def test_the_account_of_a_model_is_left_out(kvlab_says: Kvlab, tmp_path: Path) -> None:
    log, ps = _write(tmp_path, "hf.co/annaschmidt/Lab-4B-GGUF:Q4")
    said = kvlab_says("report", log, ps, "--markdown").out
    assert "annaschmidt" not in said
    assert "Lab-4B-GGUF:Q4" in said
