"""The benches, side by side with peers, each compared with its target: `python -m tests.bench [NAME] [--rounds N] [--json]`; exit code 1 when one misses it."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kvlab.errors import KvlabError
from kvlab.studies.bench_runner import quiet


@dataclass(frozen=True, slots=True)
class Bench:
    """One bench: the module that has its `measure(rounds=, say=)` and `as_text`, its usual rounds, and what it measures."""

    module: str
    rounds: int
    about: str


BENCHES: dict[str, Bench] = {
    "index": Bench("tests.bench.index", 201, "the trie and mlx-lm's PromptTrie"),
    "twin": Bench("tests.bench.twin", 1, "the twin: 50 turns of a 27B model, and a trace of 12,031 requests, on one core"),
    "views": Bench("tests.bench.views", 30, "the dashboard in JupyterLab in headless Chromium and an Altair trie: ms from event to pixels"),
    "import": Bench("tests.bench.importing", 1, "MB/s and process bytes of importing logs of a gigabyte"),
    "verdicts": Bench("tests.bench.verdicts", 40, "verdicts on figures seen from outside, on series with and without a leak"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    what = "; ".join(f"{name}: {bench.about}" for name, bench in BENCHES.items())
    parser.add_argument("bench", nargs="?", choices=tuple(BENCHES), help=f"what is measured (default: all). {what}")
    usual = ", ".join(f"{bench.rounds} for {name}" for name, bench in BENCHES.items())
    parser.add_argument("--rounds", type=int, metavar="N", help=f"how often each side runs, or how many series of each kind are judged (default: {usual})")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    seen = [_measured(BENCHES[name], args) for name in (BENCHES if args.bench is None else (args.bench,))]
    passed = all(one["passed"] for one in seen)
    if args.json:
        print(json.dumps(seen[0] if args.bench is not None else {"bench": "all", "passed": passed, "benches": seen}, indent=2))
    return 0 if passed else 1


def _measured(bench: Bench, args: argparse.Namespace) -> dict[str, Any]:
    study = importlib.import_module(bench.module)
    seen = study.measure(rounds=bench.rounds if args.rounds is None else args.rounds, say=quiet if args.json else print)
    if not args.json:
        print(study.as_text(seen))
    return dict(seen.to_dict())


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KvlabError as error:
        sys.exit(f"{error}")
