"""`kvlab export`: a recording in another program's format."""

from __future__ import annotations

import argparse
from pathlib import Path

from kvlab.cli import arguments

ABOUT = "write a recording for other programs: its tables as CSV, a trace for chrome://tracing and Perfetto, or a log in the shape of Ollama's"
EXAMPLE = "kvlab export demo.kvrec --as csv -o demo-tables\nkvlab export demo.kvrec --as chrome-trace -o demo.trace.json"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.recording(parser)
    parser.add_argument("--as", metavar="FORMAT", dest="format", required=True, help="csv or chrome-trace; a wrong FORMAT lists them all")
    parser.add_argument("-o", "--out", metavar="PATH", help="the file or folder to write (default: named like the recording, in this folder)")
    arguments.add(parser, "--force")
    parser.set_defaults(out_holds_files=True)


def run(args: argparse.Namespace) -> int:
    """Write it and say where."""
    from kvlab.errors import BadValue
    from kvlab.recording import load
    from kvlab.studies.exporters import EXPORTERS, export

    if args.format not in EXPORTERS:
        raise BadValue(what=f"a recording cannot be written as {args.format!r}", why=f"the formats are {', '.join(EXPORTERS)}", hint="name one of them")
    recording = load(args.recording, strict=not args.salvage)
    name = Path(args.recording).resolve().name.removesuffix(".zip").removesuffix(".kvrec")
    for path in export(recording, args.format, args.out or name + EXPORTERS[args.format].suffix, force=args.force):
        print(f"wrote {path}")
    return 0
