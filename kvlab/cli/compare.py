"""`kvlab compare`: two recordings, request by request and node by node."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.command import Arguments

NAME = "compare"
ABOUT = "hold two recordings against each other: by owner, by request, and their tries side by side"
EXAMPLE = "kvlab compare before.kvrec after.kvrec\nkvlab compare a.kvrec b.kvrec.zip --json"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("a", metavar="A", help="a recording: a folder NAME.kvrec, or the same zipped")
    parser.add_argument("b", metavar="B", help="the other one; differences are what it has more")
    parser.add_argument("--salvage", action="store_true", help="read what is left of a damaged recording")
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Compare and print."""
    from kvlab.recording import load
    from kvlab.views.compare.comparison import compare

    comparison = compare(load(args.a, strict=not args.salvage), load(args.b, strict=not args.salvage))
    if args.json:
        arguments.print_json(comparison.to_dict())
    else:
        print(comparison)
    return 0
