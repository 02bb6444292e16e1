"""`kvlab pack`: a recording as one file to send to somebody."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.command import Arguments

NAME = "pack"
ABOUT = "zip a recording into one file to share; prompts and answers are in it only if they were stored"
EXAMPLE = "kvlab pack demo.kvrec\nkvlab pack demo.kvrec -o demo.kvrec.zip"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.recording(parser)
    parser.add_argument("-o", "--out", metavar="FILE", help="the file to write (default: RECORDING.zip next to it)")
    arguments.force(parser)


def run(args: Arguments) -> int:
    """Pack it and say where, and whether it holds texts."""
    from kvlab.recording import load

    recording = load(args.recording, strict=not args.salvage)
    path = recording.pack(args.out, force=args.force)
    texts = "holds prompts and answers" if recording.manifest.stored_text else "holds no prompts or answers"
    print(f"wrote {path} ({texts})")
    return 0
