"""`kvlab reproduce`: published experiments and tables, made again and held against what was published."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvlab.cli import arguments
from kvlab.cli.command import Arguments

NAME = "reproduce"
ABOUT = "make a published table again: published, now, difference, verdict; `conformance` asks the caches of every mlx-lm architecture (under 5 minutes)"
EXAMPLE = "kvlab reproduce conformance\nkvlab reproduce conformance --only lfm2 --only gemma3 --json\nkvlab reproduce conformance --out conformance.json"

NAMES = ("conformance",)
"""What can be reproduced."""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("name", nargs="?", metavar="NAME", choices=NAMES, default=NAMES[0], help=f"{', '.join(NAMES)} (default: all there is)")
    parser.add_argument("--only", metavar="ROW", action="append", default=[], help="make only this row, such as one architecture; may be repeated")
    parser.add_argument("--out", metavar="FILE", help="write the table made now to this file (JSON)")
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Make the table and print it beside the published one; 1 when a row differs."""
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
