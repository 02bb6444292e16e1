"""`kvlab reproduce`: published experiments and tables, made again and held against what was published."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvlab.cli import arguments
from kvlab.cli.command import Arguments
from kvlab.errors import BadValue

NAME = "reproduce"
ABOUT = (
    "make published experiments again: published, ours, difference, verdict, a row a figure (seconds); "
    "`conformance` asks the caches of every mlx-lm architecture (under 5 minutes)"
)
EXAMPLE = "kvlab reproduce\nkvlab reproduce B\nkvlab reproduce D4 --json\nkvlab reproduce conformance --only lfm2 --only gemma3 --out conformance.json"

CONFORMANCE = "conformance"
"""The one that runs nets instead of the twin."""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help=f"an experiment (A1, A2, A3, B, C1, D4, D7, D9, E1), a letter for all of its experiments, an issue (17783, 17924, 18267), states, or {CONFORMANCE} "
        f"(default: all but {CONFORMANCE})",
    )
    parser.add_argument("--only", metavar="ROW", action="append", default=[], help=f"{CONFORMANCE}: ask only this architecture; may be repeated")
    parser.add_argument("--out", metavar="FILE", help=f"{CONFORMANCE}: write the table made now to this file (JSON)")
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Make it and print it beside what was published; 1 when a row differs."""
    return _conformance(args) if args.name == CONFORMANCE else _published(args)


def _published(args: Arguments) -> int:
    from tqdm.auto import tqdm

    from kvlab.studies import reproduce

    for flag, given in (("--only", args.only), ("--out", args.out)):
        if given:
            raise BadValue(
                what=f"{flag} was given with {args.name or 'all experiments'}",
                why=f"it belongs to {CONFORMANCE}",
                hint=f"write kvlab reproduce {CONFORMANCE} {flag} ..., or leave it out",
            )
    names = reproduce.wanted(args.name)
    with tqdm(total=len(names), desc="reproduce", unit="experiment", disable=not arguments.shows_progress(args)) as bar:
        seen = reproduce.reproduce(names, bar.update)
    if args.json:
        arguments.print_json(seen.to_dict())
    else:
        print(seen)
    return 0 if seen.agrees else 1


def _conformance(args: Arguments) -> int:
    from tqdm.auto import tqdm

    from kvlab.studies import conformance
    from kvlab.studies.conformance import matrix, table

    wanted = matrix.wanted(args.only)
    with tqdm(total=len(wanted), desc=args.name, unit="row", disable=not arguments.shows_progress(args)) as bar:
        seen = conformance.reproduce(wanted, bar.update)
    if args.out:
        table.write(seen.now, Path(args.out))
    if args.json:
        arguments.print_json(seen.to_dict())
    else:
        print(seen)
    return 0 if seen.agrees else 1
