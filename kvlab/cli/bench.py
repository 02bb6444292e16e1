"""`kvlab bench`: speed side by side with mlx-lm."""

from __future__ import annotations

import argparse
from typing import Any

from kvlab.cli import arguments
from kvlab.cli.command import Arguments

NAME = "bench"
ABOUT = "speed, side by side: `runner` holds the instrumented runner against mlx_lm.stream_generate, `index` the trie against its PromptTrie"
EXAMPLE = "kvlab bench\nkvlab bench runner --rounds 3 --json\nkvlab bench index"

BENCHES = ("runner", "index")


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("bench", nargs="?", choices=BENCHES, help="what is measured (default: all there is)")
    parser.add_argument("--model", metavar="MODEL", default="smollm2", help="for runner: smollm2 (the default), a local folder or an mlx-lm id")
    parser.add_argument("--rounds", type=int, metavar="N", help="how often each side runs (default: 5 for runner, 201 for index)")
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Measure and print; 1 when something is under its bar."""
    seen = [_measured(name, args) for name in (BENCHES if args.bench is None else (args.bench,))]
    passed = all(one["passed"] for one in seen)
    if args.json:
        arguments.print_json(seen[0] if args.bench is not None else {"bench": "all", "passed": passed, "benches": seen})
    return 0 if passed else 1


def _measured(name: str, args: Arguments) -> dict[str, Any]:
    from kvlab.studies import bench_index, bench_runner

    say = None if args.json else print
    if name == "runner":
        runner = bench_runner.measure(args.model, rounds=5 if args.rounds is None else args.rounds, say=say)
        text, told = bench_runner.as_text(runner), runner.to_dict()
    else:
        index = bench_index.measure(rounds=201 if args.rounds is None else args.rounds, say=say)
        text, told = bench_index.as_text(index), index.to_dict()
    if not args.json:
        print(text)
    return told
