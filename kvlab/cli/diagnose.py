"""`kvlab diagnose`: what a recording says, question by question."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.command import Arguments

NAME = "diagnose"
ABOUT = "answer the usual questions about a recording: budget or leak, reuse, right answers, do the parts add up"
EXAMPLE = "kvlab diagnose demo.kvrec\nkvlab diagnose run.kvrec.zip --json"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.recording(parser)
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Answer and print."""
    from kvlab.diagnose import diagnose
    from kvlab.recording import load

    findings = diagnose(load(args.recording, strict=not args.salvage))
    if args.json:
        arguments.print_json(findings.to_dict())
    else:
        print(findings)
    return 0
