"""`kvlab bench`: speed side by side with mlx-lm."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.command import Arguments

NAME = "bench"
ABOUT = "speed, side by side: `runner` holds the instrumented runner against mlx_lm.stream_generate"
EXAMPLE = "kvlab bench\nkvlab bench runner --rounds 3 --json"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("bench", nargs="?", choices=("runner",), default="runner", help="what is measured (default: all there is, which is runner)")
    parser.add_argument("--model", metavar="MODEL", default="smollm2", help="smollm2 (the default), a local folder or an mlx-lm id")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="how often each side runs, in turn (default: 5)")
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Measure and print; 1 when the runner is under its bar."""
    from kvlab.studies import bench_runner

    seen = bench_runner.measure(args.model, rounds=args.rounds, say=None if args.json else print)
    if args.json:
        arguments.print_json(seen.to_dict())
    else:
        print(bench_runner.as_text(seen))
    return 0 if seen.is_fast_enough else 1
