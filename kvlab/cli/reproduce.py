"""`kvlab reproduce`: published experiments and tables, made again and compared with what was published; the score is of predicted figures alone."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.errors import BadValue

ABOUT = (
    "make published experiments again, a row a figure: published, ours, difference, verdict, what it proves (seconds); "
    "`conformance`: the published table of what the caches of every mlx-lm architecture do"
)
EXAMPLE = """kvlab reproduce
kvlab reproduce B
kvlab reproduce A1 A2
kvlab reproduce D4 --json
kvlab reproduce conformance --only lfm2 --only gemma3"""

CONFORMANCE = "conformance"
"""The one that is a table of nets, not of the twin."""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "names",
        nargs="*",
        metavar="NAME",
        help="experiments (A1, A2, A3, B, C1, D4, D7, D9, E1), a letter for all of its experiments, issues (17783, 17924, 18267), states, "
        f"one or several of them, or {CONFORMANCE} by itself (default: all but {CONFORMANCE})",
    )
    parser.add_argument("--only", metavar="ROW", action="append", default=[], help=f"{CONFORMANCE}: show only this architecture; may be repeated")
    arguments.add(parser, "--json")


def run(args: argparse.Namespace) -> int:
    """Make it and print it with what was published; 1 when a row differs."""
    if CONFORMANCE in args.names and len(args.names) > 1:
        raise BadValue(
            what=f"{CONFORMANCE} was given with {', '.join(name for name in args.names if name != CONFORMANCE) or 'itself'}",
            why="it is a table of its own",
            hint=f"write kvlab reproduce {CONFORMANCE} by itself",
        )
    if args.names == [CONFORMANCE]:
        from kvlab.studies import conformance

        arguments.show(args, conformance.published(args.only))
        return 0
    if args.only:
        raise BadValue(
            what=f"--only was given with {', '.join(args.names) or 'all experiments'}",
            why=f"it belongs to {CONFORMANCE}",
            hint=f"write kvlab reproduce {CONFORMANCE} --only ..., or leave it out",
        )
    return _experiments(args)


def _experiments(args: argparse.Namespace) -> int:
    from tqdm.auto import tqdm

    from kvlab.studies import reproduce

    names = tuple(dict.fromkeys(one for name in args.names or [None] for one in reproduce.names_of(name)))
    with tqdm(total=len(names), desc="reproduce", unit="experiment", disable=not arguments.shows_progress(args)) as bar:
        made = reproduce.reproduce(names, bar.update)
    arguments.show(args, made)
    return 0 if made.agrees else 1
