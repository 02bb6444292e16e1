"""`kvlab`: finds the command, runs it, and turns what went wrong into three lines and an exit code.

0 it did what was asked, 1 a check failed, 2 wrong use, 3 an input that cannot be read, 130 interrupted from the keyboard.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import keyword
import os
import re
import sys
from collections.abc import Sequence
from typing import Any, cast

from kvlab.cli import arguments, interrupted
from kvlab.cli.command import Command
from kvlab.errors import KvlabError, UnreadableInput

COMMANDS = (
    "demo",
    "run",
    "twin",
    "check",
    "faults",
    "diagnose",
    "import",
    "probe",
    "report",
    "compare",
    "export",
    "pack",
    "lab",
    "doctor",
    "bench",
    "reproduce",
)
"""The commands, each a module of this package (`import` is `import_`: the word is Python's), in the order in which `--help` shows them."""

INTERRUPTED = 130
OUTPUT_CLOSED = 141


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (by default that of the process) and return its exit code."""
    args, before, earlier = argparse.Namespace(), None, False
    try:
        try:
            args = parser().parse_args(_words(argv))
            arguments.require_out_outside(args)
            before, earlier = interrupted.which_folder(args), interrupted.holds_recording(args)
            code = cast("int", args.run(args))
        except SystemExit as leaving:
            # argparse leaves after --help, --version and a wrong use, each with its code
            code = leaving.code if isinstance(leaving.code, int) else 2
        sys.stdout.flush()
    except KvlabError as error:
        print("\n".join([f"kvlab: {error}", *interrupted.kept_words(args, error)]), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt as stopped:
        print(f"kvlab: {interrupted.told(args, stopped)}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return OUTPUT_CLOSED
    except OSError as error:
        _drop_output()
        refused = UnreadableInput(f"the system refused: {error}", "the output or a file cannot be written or read", "make room there, or choose another place")
        print(f"kvlab: {refused}", file=sys.stderr)
        return refused.exit_code
    finally:
        if earlier and (words := interrupted.replaced(args, before)):
            print(words, file=sys.stderr)
    return code


def _drop_output() -> None:
    # The output may be closed or full: then nothing may be written there any more, not even when Python ends.
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _words(argv: Sequence[str] | None) -> list[str]:
    """Return the words with a budget such as -5MiB joined to its flag: argparse would take it for a flag, here it is a wrong value."""
    words: list[str] = []
    for word in sys.argv[1:] if argv is None else argv:
        if words and words[-1] == "--budget" and re.match(r"-\.?[0-9]", word):
            words[-1] += f"={word}"
        else:
            words.append(word)
    return words


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
        module = f"{name}_" if keyword.iskeyword(name) else name
        command = cast("Command", importlib.import_module(f"kvlab.cli.{module}"))
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
