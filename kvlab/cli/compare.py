"""`kvlab compare`: two recordings, request by request and node by node."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments

ABOUT = "compare two recordings: by owner, by request, and their tries side by side"
EXAMPLE = "kvlab compare before.kvrec after.kvrec\nkvlab compare a.kvrec b.kvrec.zip --json"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("a", metavar="A", help="a recording: a folder NAME.kvrec, or the same zipped")
    parser.add_argument("b", metavar="B", help="the other one; differences are what it has more")
    arguments.add(parser, "--salvage", "--json")


def run(args: argparse.Namespace) -> int:
    """Compare and print."""
    from kvlab.recording import load
    from kvlab.views.compare.comparison import compare

    arguments.show(args, compare(*(load(path, strict=not args.salvage) for path in (args.a, args.b))))
    return 0
