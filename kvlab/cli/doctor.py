"""`kvlab doctor`: what this machine can run."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.command import Arguments

NAME = "doctor"
ABOUT = "say what this machine can run: versions, MLX device, BLAS, browser, models, disk"
EXAMPLE = "kvlab doctor\nkvlab doctor --json"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Look and print."""
    from kvlab.studies import machine

    seen = machine.look()
    if args.json:
        arguments.print_json(seen)
    else:
        print(machine.as_text(seen))
    return 0
