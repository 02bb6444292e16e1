"""`kvlab bench`: speed side by side with peers, and how good verdicts are."""

from __future__ import annotations

import argparse
import importlib
from dataclasses import dataclass
from typing import Any

from kvlab.cli import arguments
from kvlab.cli.command import Arguments
from kvlab.studies.bench_words import unsaid

NAME = "bench"
ABOUT = "speed and bytes, side by side with peers, each under its bar"
EXAMPLE = "kvlab bench\nkvlab bench runner --rounds 3 --json\nkvlab bench index"


@dataclass(frozen=True, slots=True)
class Bench:
    """One bench: the module of `kvlab.studies` that has its `measure` and `as_text`, its usual rounds, and what it measures.

    `measure(rounds=, say=)` returns what has `to_dict()`, with a `passed` in it; with `takes_model` it takes `model` first.
    """

    module: str
    rounds: int
    about: str
    takes_model: bool = False


BENCHES: dict[str, Bench] = {
    "runner": Bench("bench_runner", 5, "the instrumented runner beside mlx_lm.stream_generate", takes_model=True),
    "index": Bench("bench_index", 201, "the trie beside mlx-lm's PromptTrie"),
    "twin": Bench("bench_twin", 1, "the twin: 50 turns of a 27B model, and a trace of 12,031 requests, on one core"),
    "views": Bench("bench_views", 30, "the dashboard in JupyterLab in headless Chromium beside an Altair trie: ms from event to pixels"),
    "verdicts": Bench("verdicts", 200, "verdicts on figures seen from outside, on lawful and leaking series"),
}


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    what = "; ".join(f"{name}: {bench.about}" for name, bench in BENCHES.items())
    parser.add_argument("bench", nargs="?", choices=tuple(BENCHES), help=f"what is measured (default: all there is). {what}")
    parser.add_argument("--model", metavar="MODEL", default="smollm2", help="for runner: smollm2 (the default), a local folder or an mlx-lm id")
    usual = ", ".join(f"{bench.rounds} for {name}" for name, bench in BENCHES.items())
    parser.add_argument("--rounds", type=int, metavar="N", help=f"how often each side runs, or how many series of each kind are judged (default: {usual})")
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Measure and print; 1 when something is under its bar."""
    seen = [_measured(BENCHES[name], args) for name in (BENCHES if args.bench is None else (args.bench,))]
    passed = all(one["passed"] for one in seen)
    if args.json:
        arguments.print_json(seen[0] if args.bench is not None else {"bench": "all", "passed": passed, "benches": seen})
    return 0 if passed else 1


def _measured(bench: Bench, args: Arguments) -> dict[str, Any]:
    study = importlib.import_module(f"kvlab.studies.{bench.module}")
    given = {"model": args.model} if bench.takes_model else {}
    seen = study.measure(**given, rounds=bench.rounds if args.rounds is None else args.rounds, say=unsaid if args.json else print)
    if not args.json:
        print(study.as_text(seen))
    return dict(seen.to_dict())
