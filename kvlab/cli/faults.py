"""`kvlab faults`: the catalogue of known defects; with a name, its trigger in both arms."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments

ABOUT = "the catalogue of known defects; with a name, its trigger runs in both arms, on the twin and on real arrays, and what differs is shown"
EXAMPLE = "kvlab faults\nkvlab faults F-14\nkvlab faults F-06 --json\nkvlab faults C --twin-only"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="an entry's id such as F-14, or words of its name; C for experiment C in full, which takes minutes; without it the catalogue is listed",
    )
    parser.add_argument("--twin-only", action="store_true", help="run it on span counts only, not on real arrays")
    arguments.add(parser, "--json")


def run(args: argparse.Namespace) -> int:
    """List the catalogue, or run one entry; a defect that shows is what the command is for, so the code is 0."""
    from kvlab.studies import faults

    arguments.show(args, faults.Listing() if args.name is None else faults.Entry(faults.show(args.name, arrays=not args.twin_only)))
    return 0
