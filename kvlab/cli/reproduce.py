"""`kvlab reproduce`: published experiments and tables, made again and held against what was published; the score is of predicted figures alone."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvlab.cli import arguments
from kvlab.cli.command import Arguments
from kvlab.errors import BadValue

NAME = "reproduce"
ABOUT = (
    "make published experiments again, a row a figure: published, ours, difference, verdict, what it proves (seconds); "
    "`conformance` asks the caches of every mlx-lm architecture (under 5 minutes)"
)
EXAMPLE = """kvlab reproduce
kvlab reproduce B
kvlab reproduce A1 A2
kvlab reproduce D4 --json
kvlab reproduce conformance --only lfm2 --only gemma3 --out conformance.json"""

CONFORMANCE = "conformance"
"""The one that runs nets instead of the twin."""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="experiments (A1, A2, A3, B, C1, D4, D7, D9, E1), a letter for all of its experiments, issues (17783, 17924, 18267), states, "
        f"one or several of them, or {CONFORMANCE} by itself "
        f"(default: all but {CONFORMANCE})",
    )
    parser.add_argument("--only", metavar="ROW", action="append", default=[], help=f"{CONFORMANCE}: ask only this architecture; may be repeated")
    parser.add_argument("--out", metavar="FILE", help=f"{CONFORMANCE}: write the table made now to this file (JSON)")
    arguments.force(parser)
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Make it and print it beside what was published; 1 when a row differs."""
    if CONFORMANCE in args.names and len(args.names) > 1:
        raise BadValue(
            what=f"{CONFORMANCE} was given with {', '.join(name for name in args.names if name != CONFORMANCE) or 'itself'}",
            why="it runs nets and takes minutes, the others seconds",
            hint=f"write kvlab reproduce {CONFORMANCE} by itself",
        )
    return _conformance(args) if args.names == [CONFORMANCE] else _published(args)


def _published(args: Arguments) -> int:
    from tqdm.auto import tqdm

    from kvlab.studies import reproduce

    for flag, given in (("--only", args.only), ("--out", args.out)):
        if given:
            raise BadValue(
                what=f"{flag} was given with {', '.join(args.names) or 'all experiments'}",
                why=f"it belongs to {CONFORMANCE}",
                hint=f"write kvlab reproduce {CONFORMANCE} {flag} ..., or leave it out",
            )
    names = tuple(dict.fromkeys(one for name in args.names or [None] for one in reproduce.wanted(name)))
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
    with tqdm(total=len(wanted), desc=CONFORMANCE, unit="row", disable=not arguments.shows_progress(args)) as bar:
        seen = conformance.reproduce(wanted, bar.update)
    if args.out:
        table.write(seen.now, Path(args.out), force=args.force)
    if args.json:
        arguments.print_json(seen.to_dict())
    else:
        print(seen)
    return 0 if seen.agrees else 1
