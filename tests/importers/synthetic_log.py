"""Ollama logs of any size for benches: the log of a twin's run, said again and again at later moments, with the lines around it that real logs have.

Mixes: `info` is what a server writes by default; `dumps` is TRACE of a model without sliding windows, where the trie's dumps are most of it; `trace`
is TRACE of a model with 25 sliding-window layers, each of which writes a line a token, and with the list of tensors that releases before scopes print.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kvlab.lab import open_twin
from kvlab.policy import Policy
from kvlab.workloads import resolve
from tests.importers.write_ollama_log import ollama_log_lines

MIXES = ("info", "dumps", "trace")

WORKLOAD = "chat:40"
WINDOW_LAYERS = 25
TENSORS = 300
TOKENS_WRITTEN = 24
"""Tokens of a request for which window layers write their lines."""

_STAMP = re.compile(r"time=\S+ ")
_LEVEL = re.compile(r"level=(\w+)")
_GIN = '[GIN] {day} | 200 |  2.34217s |       127.0.0.1 | POST     "/api/generate"'
_SERVED = 'level=INFO source=server.go:225 msg=ServeHTTP method=POST path=/v1/completions took=2.34s status="200 OK"'
_SET_UP = (
    'level=DEBUG source=sched.go:746 msg="finished setting up" runner.name=registry.example/library/lab-27b-mlx runner.size="17.3 GiB" runner.vram="17.3 GiB" '
    "runner.parallel=1 runner.pid=4242 runner.model=digest:0 runner.num_ctx=65536"
)
_WINDOW = (
    'level=TRACE source=rotating.go:106 msg=(*RotatingKVCache).update keys_dim="[1 16 1 256]" values_dim="[1 16 1 256]" '
    "offset={offset} idx={offset} max_size=1024"
)
_TENSOR = 'level=TRACE source=array.go:318 msg="tensor {name:60} BF16 {size}.00 MiB pinned=1 [1 8 4096 128]"'


def write_log(path: Path, size: int, mix: str) -> None:
    """Write a log of at least `size` bytes."""
    block = list(_block(mix))
    moment, written, step = datetime(2026, 8, 1, tzinfo=UTC), 0, timedelta(milliseconds=3)
    with path.open("w", encoding="utf-8", newline="\n") as file:
        while written < size:
            lines: list[str] = []
            for line in block:
                moment += step
                if line.startswith("level="):
                    lines.append(f"time={moment.isoformat(timespec='milliseconds')} {line}\n")
                else:
                    lines.append(line.replace("{day}", moment.strftime("%Y/%m/%d - %H:%M:%S")) + "\n")
            text = "".join(lines)
            file.write(text)
            written += len(text)


def _block(mix: str) -> Iterator[str]:
    """Yield one runner's life, from its start to its stop, without moments."""
    recording = open_twin(["recurrent", "kv"]).run(resolve(WORKLOAD), Policy(budget_bytes=300), progress=False)
    wanted = ("INFO", "WARN") if mix == "info" else ("INFO", "WARN", "DEBUG", "TRACE")
    for line in ollama_log_lines(recording):
        level = _LEVEL.search(line)
        if level is None or level[1] not in wanted:
            continue
        if 'msg="peak memory"' in line and mix == "trace":
            yield from _noise()
        if "tensors total: " in line and mix == "trace":
            for number in range(TENSORS):
                yield _TENSOR.format(name=f"model.layers.{number}.self_attn", size=64 + number % 7)
        yield _STAMP.sub("", line, count=1)
        if 'msg="mlx runner is ready"' in line:
            yield _SET_UP
        if 'msg="peak memory"' in line:
            yield _SERVED
            yield _GIN
    yield 'level=INFO source=client.go:142 msg="stopping mlx runner subprocess" pid=4242'


def _noise() -> Iterator[str]:
    for token in range(TOKENS_WRITTEN):
        line = _WINDOW.format(offset=1000 + token)
        yield from (line for _ in range(WINDOW_LAYERS))
