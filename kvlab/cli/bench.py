"""`kvlab bench`: is kvlab's runner as fast as mlx-lm's on this machine?"""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.command import Arguments

NAME = "bench"
ABOUT = "compare the instrumented runner with mlx_lm.stream_generate on the same model"
EXAMPLE = "kvlab bench runner\nkvlab bench runner --rounds 3 --json"

ROUNDS = 5


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("bench", nargs="?", choices=("runner",), help="what is measured (default: runner)")
    parser.add_argument("--model", metavar="MODEL", default="smollm2", help="smollm2 (the default), a local folder or an mlx-lm id")
    parser.add_argument("--rounds", type=int, metavar="N", default=ROUNDS, help=f"how often each side runs (default: {ROUNDS})")
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Measure and print; 1 when kvlab is under its bar."""
    from kvlab.studies import bench_runner

    seen = bench_runner.measure(args.model, rounds=args.rounds, say=bench_runner.unsaid if args.json else print)
    if args.json:
        arguments.print_json(seen.to_dict())
    else:
        print(bench_runner.as_text(seen))
    return 0 if seen.is_fast_enough else 1
