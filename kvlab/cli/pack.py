"""`kvlab pack`: a recording as one file to send."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments

ABOUT = "zip a recording into one file to share; prompts and answers are in it only if they were stored"
EXAMPLE = "kvlab pack demo.kvrec\nkvlab pack demo.kvrec -o demo.kvrec.zip"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.recording(parser)
    parser.add_argument("-o", "--out", metavar="FILE", help="the file to write (default: RECORDING.zip next to it)")
    arguments.add(parser, "--force")


def run(args: argparse.Namespace) -> int:
    """Pack it and say where, and whether it holds texts."""
    from kvlab.recording import load

    recording = load(args.recording, strict=not args.salvage)
    path = recording.pack(args.out, force=args.force)
    print(f"wrote {path} ({'holds prompts and answers' if recording.manifest.stored_text else 'holds no prompts or answers'})")
    return 0
