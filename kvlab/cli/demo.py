"""`kvlab demo`: the main job, without arguments."""

from __future__ import annotations

import argparse
from pathlib import Path

ABOUT = "see a real model fill its prefix cache, request by request, with a verdict and a report"
EXAMPLE = "kvlab demo\nkvlab demo --out /tmp/first"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--out", metavar="FOLDER", default=".", help="where demo.kvrec and demo.html are written (default: here)")
    parser.set_defaults(out_holds_files=True, recording_folder=_recording_folder)


def run(args: argparse.Namespace) -> int:
    """Run it; it prints as it goes."""
    from kvlab.studies.demo import demo

    demo(args.out)
    return 0


def _recording_folder(args: argparse.Namespace) -> str:
    from kvlab.studies.demo import RECORDING

    return str(Path(args.out) / RECORDING)
