"""`kvlab bench`: is kvlab's runner as fast as mlx-lm's on this machine?"""

from __future__ import annotations

import argparse
import importlib

from kvlab.cli import arguments

ABOUT = "compare the instrumented runner with mlx_lm.stream_generate on the same model"
EXAMPLE = "kvlab bench runner\nkvlab bench runner --rounds 3 --json"

BENCHES = {"runner": "kvlab.studies.bench_runner"}
"""The module of each bench: `measure` runs it."""

ROUNDS = 5


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("bench", nargs="?", choices=tuple(BENCHES), default="runner", help="what is measured (default: runner)")
    parser.add_argument("--model", metavar="MODEL", default="smollm2", help="smollm2 (the default), a local folder or an mlx-lm id")
    parser.add_argument("--rounds", type=int, metavar="N", default=ROUNDS, help=f"how often each side runs (default: {ROUNDS})")
    arguments.add(parser, "--json")


def run(args: argparse.Namespace) -> int:
    """Measure and print; 1 when kvlab is under its bar."""
    bench = importlib.import_module(BENCHES[args.bench])
    measured = bench.measure(args.model, rounds=args.rounds, say=bench.quiet if args.json else print)
    arguments.show(args, measured)
    return 0 if measured.is_fast_enough else 1
