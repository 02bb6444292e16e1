"""`kvlab export`: a recording in another program's format."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvlab.cli import arguments
from kvlab.cli.command import Arguments

NAME = "export"
ABOUT = "write a recording for other programs: its tables as CSV, a trace for chrome://tracing and Perfetto, or a log in the shape of Ollama's"
EXAMPLE = "kvlab export demo.kvrec --as csv -o demo-tables\nkvlab export demo.kvrec --as chrome-trace -o demo.trace.json"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.recording(parser)
    parser.add_argument("--as", metavar="WAY", dest="way", required=True, help="csv or chrome-trace; a wrong WAY names them all")
    parser.add_argument("-o", "--out", metavar="PATH", help="the file or folder to write (default: named like the recording, in this folder)")
    arguments.force(parser)
    parser.set_defaults(out_holds_files=True)


def run(args: Arguments) -> int:
    """Write it and say where."""
    from kvlab.errors import BadValue
    from kvlab.recording import load
    from kvlab.studies.exporters import EXPORTERS, export

    if args.way not in EXPORTERS:
        raise BadValue(what=f"a recording cannot be written as {args.way!r}", why=f"the ways are {', '.join(EXPORTERS)}", hint="name one of them")
    recording = load(args.recording, strict=not args.salvage)
    name = Path(args.recording).resolve().name.removesuffix(".zip").removesuffix(".kvrec")
    for path in export(recording, args.way, args.out or name + EXPORTERS[args.way].suffix, force=args.force):
        print(f"wrote {path}")
    return 0
