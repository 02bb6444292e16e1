"""`kvlab doctor`: what this machine can run."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments

ABOUT = "say what this machine can run: versions, MLX device, BLAS, browser, models, disk"
EXAMPLE = "kvlab doctor\nkvlab doctor --json"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.add(parser, "--json")


def run(args: argparse.Namespace) -> int:
    """Look and print."""
    from kvlab.studies import machine

    arguments.show(args, machine.look())
    return 0
