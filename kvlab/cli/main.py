"""`kvlab`: finds the command, runs it, and turns what went wrong into three lines and an exit code.

0 it did what was asked, 1 a check failed, 2 wrong use, 3 an input that cannot be read, 130 interrupted from the keyboard.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any, cast

from kvlab.cli import interrupted
from kvlab.cli.command import Command
from kvlab.errors import KvlabError

COMMANDS = ("demo", "run", "twin", "check", "soak", "diagnose", "report", "pack", "lab", "doctor", "bench", "reproduce")
"""The commands, each a module of this package, in the order in which `--help` shows them."""

INTERRUPTED = 130
OUTPUT_CLOSED = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (by default that of the process) and return its exit code."""
    try:
        args = parser().parse_args(argv)
    except SystemExit as leaving:
        # argparse leaves after --help, --version and a wrong use, each with its code
        return leaving.code if isinstance(leaving.code, int) else 2
    before = interrupted.which_folder(args)
    try:
        code = cast("int", args.run(args))
        sys.stdout.flush()
    except KvlabError as error:
        print(f"kvlab: {error}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print(f"kvlab: {interrupted.told(args, before)}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # the reader has left; nothing may be written there any more, not even when Python ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OUTPUT_CLOSED
    return code


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    whole = argparse.ArgumentParser(
        prog="kvlab",
        description="Look inside the prefix cache of a local LLM: real models, every byte with an owner, a verdict.",
        epilog="Begin with: kvlab demo",
    )
    whole.add_argument("--version", action=_Version, nargs=0, help="show kvlab's version and leave")
    commands = whole.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        command = cast("Command", importlib.import_module(f"kvlab.cli.{name}"))
        examples = "\n".join(f"  {line}" for line in command.EXAMPLE.splitlines())
        added = commands.add_parser(
            command.NAME,
            help=command.ABOUT,
            description=command.ABOUT[0].upper() + command.ABOUT[1:] + ".",
            epilog=f"example:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.prepare(added)
        added.set_defaults(run=command.run)
    return whole


class _Version(argparse.Action):
    # looked up only when it is asked for: what knows it is slow to import

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from kvlab.recording import computer

        print(f"kvlab {computer.version_of('kvlab') or 'of a folder that is not installed'}")
        parser.exit()
