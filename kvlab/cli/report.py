"""`kvlab report`: a recording as one HTML file that works offline."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.command import Arguments

NAME = "report"
ABOUT = "write a recording as one HTML file that works offline"
EXAMPLE = "kvlab report demo.kvrec -o report.html"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.recording(parser)
    parser.add_argument("-o", "--out", metavar="FILE", default="report.html", help="the file to write (default: report.html)")


def run(args: Arguments) -> int:
    """Write it and say where."""
    from kvlab.diagnose import diagnose
    from kvlab.recording import load
    from kvlab.views.report import write_report

    recording = load(args.recording, strict=not args.salvage)
    path = write_report(recording, args.out, diagnose(recording))
    print(f"wrote {path}")
    return 0
