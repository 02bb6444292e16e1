"""Make the sample log that comes with kvlab: a server that grew over one afternoon, as its log at TRACE tells it.

    python -m tests.tools.store_sample_log

A document of 9,000 tokens is read, asked about by a second client whose prompt begins the same way, and then in one long conversation. It is a run of
the twin of gemma4-31b under the rules of Ollama 0.33.0, written as such a server's log with made-up speeds; no server and no user is in it.
"""

from __future__ import annotations

import dataclasses
import sys
from datetime import UTC, datetime

import polars as pl

from kvlab import shipped
from kvlab.lab.shapes import open_twin
from kvlab.policy import Policy
from kvlab.recording import Recording
from kvlab.workloads import Request, Workload
from kvlab.workloads.streams import Fresh
from tests.importers.write_ollama_log import ollama_log_lines

NAME = "samples/ollama_grew.log"
SHAPE, MODEL, VERSION = "gemma4-31b", "gemma4:31b-mlx", "0.33.0"
DOCUMENT, SHARED, TURNS, REPLY, QUESTION = 9_000, 8_950, 24, 24, 38
PREFILL_TPS, DECODE_TPS, THINK_S = 500, 20, 60
BEGAN = datetime(2026, 9, 20, 14, 0, tzinfo=UTC)


def sample_recording() -> Recording:
    """Return the run."""
    policy, fresh = Policy.ollama(VERSION), Fresh()
    document = fresh.take(DOCUMENT)
    other = document[:SHARED] + fresh.take(400)
    requests = [Request(tokens=document, generated=fresh.take(REPLY)), Request(tokens=other, generated=fresh.take(REPLY))]
    tokens = document + fresh.take(REPLY - 2 + QUESTION - 22)
    for _ in range(TURNS):
        requests.append(Request(tokens=tokens, generated=fresh.take(REPLY)))
        # the reply comes back rendered otherwise, and a question follows
        tokens = tokens + fresh.take(REPLY - 2 + QUESTION - 22)
    return open_twin(SHAPE, policy).run(Workload("an afternoon", tuple(requests)), policy, progress=False)


def sample_lines() -> list[str]:
    """Return the log's lines."""
    run = sample_recording()
    took = (
        pl.when(pl.col("kind") == "chunk_ran")
        .then((pl.col("end") - pl.col("start")) / PREFILL_TPS)
        .when(pl.col("kind") == "token_out")
        .then(1 / DECODE_TPS)
        .when((pl.col("kind") == "request_began") & (pl.col("request") > 1))
        .then(THINK_S)
        .otherwise(0.001)
    )
    made = dataclasses.replace(run.manifest, model=MODEL, created=BEGAN.isoformat(timespec="milliseconds"))
    run = Recording(made, run.events.with_columns(took.cum_sum().alias("t")))
    stamp = BEGAN.isoformat(timespec="milliseconds")
    return [f'time={stamp} level=INFO source=routes.go:1900 msg="Listening on 127.0.0.1:11434 (version {VERSION})"', *ollama_log_lines(run)]


def main() -> int:
    """Write it into `data/`; return the exit code."""
    path = shipped.data() / NAME
    path.parent.mkdir(exist_ok=True)
    path.write_text("\n".join(sample_lines()) + "\n", encoding="utf-8", newline="\n")
    print(f"stored {NAME}: {path.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
