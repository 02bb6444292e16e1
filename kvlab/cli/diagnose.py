"""`kvlab diagnose`: what a recording, a log or a table says, question by question."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.command import Arguments
from kvlab.cli.recorded import open_recording

NAME = "diagnose"
ABOUT = "answer the usual questions about a recording, a log or a table: budget or leak, reuse, right answers, do the parts add up"
EXAMPLE = (
    "kvlab diagnose demo.kvrec\nkvlab diagnose run.kvrec.zip --json\nkvlab diagnose server.log\nkvlab diagnose server.log.gz\n"
    "kvlab diagnose server.log ps.txt\n"
    "journalctl -u ollama | kvlab diagnose -\nkvlab diagnose samples.csv --shape qwen3.8-27b --policy 0.32.5"
)


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.recording(parser, or_file=True)
    parser.add_argument("--shape", metavar="S", help="the model's shape, when it is not recognised: a shipped name, a config.json, or a folder with one")
    parser.add_argument("--policy", metavar="VERSION", help="the server's rules, when its version is not told: a release such as 0.32.5, or main")
    arguments.machine(parser)
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Answer and print."""
    from kvlab.diagnose import diagnose

    findings = diagnose(open_recording(args), shape=args.shape, policy=args.policy, machine=args.machine)
    if args.json:
        arguments.print_json(findings.to_dict())
    else:
        print(findings)
    return 0
