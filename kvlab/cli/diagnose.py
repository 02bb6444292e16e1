"""`kvlab diagnose`: what a recording, a log or a table says, question by question."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments

ABOUT = "answer the usual questions about a recording, a log or a table: budget or leak, reuse, right answers, do the parts add up"
EXAMPLE = """kvlab diagnose demo.kvrec
kvlab diagnose run.kvrec.zip --json
kvlab diagnose server.log
kvlab diagnose server.log.gz
kvlab diagnose server.log ps.txt
journalctl -u ollama | kvlab diagnose -
kvlab diagnose samples.csv --shape qwen3.8-27b --policy 0.32.5"""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.server_input(parser)
    arguments.add(parser, "--json")


def run(args: argparse.Namespace) -> int:
    """Answer and print."""
    from kvlab.findings import diagnose

    arguments.show(args, diagnose(arguments.open_recording(args), shape=args.shape, policy=args.policy, machine=args.machine))
    return 0
