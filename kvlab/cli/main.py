"""`kvlab`: finds the command, runs it, and turns what went wrong into three lines and an exit code.

0 success, 1 a check failed, 2 wrong use, 3 an input that cannot be read, 128 and its number after a
signal that ends it (130 Ctrl-C, 143 SIGTERM), 141 when the reader of its output has left.
"""

from __future__ import annotations

import argparse
import importlib
import keyword
import re
import sys
import tempfile
from collections.abc import Sequence
from typing import Any, Protocol, cast

from kvlab import temporary
from kvlab.cli import arguments, signals, terminal
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
    "serve",
    "top",
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

OUTPUT_CLOSED = 141


class Command(Protocol):
    """The module of a command. It imports only light floors at its top, so `--help` is quick.

    Attributes:
        ABOUT: What it does, in one line.
        EXAMPLE: Lines to type, shown by `--help`.
    """

    ABOUT: str
    EXAMPLE: str

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        ...

    def run(self, args: argparse.Namespace) -> int:
        """Do it and print; return the exit code.

        Raises:
            KvlabError: the user can do something about it.
        """
        ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line (by default that of the process) and return its exit code."""
    with terminal.shown(), signals.handled(to_the_end=argv is None) as stop:
        return _ran(argv, stop)


def _ran(argv: Sequence[str] | None, stop: signals.Stop) -> int:
    args, earlier = argparse.Namespace(), None
    try:
        stop.begin()
        try:
            args = parser().parse_args(_words(argv))
            arguments.require_out_outside(args)
            temporary.sweep(tempfile.gettempdir())
            earlier = signals.kept_recording(args)
            code = cast("int", args.run(args))
        except SystemExit as leaving:
            # argparse leaves after --help, --version and a wrong use, each with its code
            code = leaving.code if isinstance(leaving.code, int) else 2
        sys.stdout.flush()
        stop.resting = True
    except BaseException as error:  # noqa: BLE001  a defect of ours is raised again
        stop.resting = True
        code = _failed(args, error, stop)
    if earlier and signals.kept_recording(args) not in (None, earlier):
        terminal.say(f"replaced the earlier recording {signals.recording_folder(args)}")
    return code


def _failed(args: argparse.Namespace, error: BaseException, stop: signals.Stop) -> int:
    """Say what went wrong and return the exit code.

    Raises:
        BaseException: it is a defect of ours.
    """
    if isinstance(error, KeyboardInterrupt) or (stop.number and not isinstance(error, KvlabError)):
        # where an interruption meets compiled code, that may make another error of it
        terminal.drop_output()
        terminal.say(f"kvlab: {signals.stop_message(args, error, stop.words)}")
        return stop.exit_code
    if isinstance(error, KvlabError):
        terminal.say("\n".join([f"kvlab: {error}", *signals.kept_notes(args, error)]))
        return error.exit_code
    if isinstance(error, BrokenPipeError):
        terminal.drop_output()
        return OUTPUT_CLOSED
    if isinstance(error, OSError):
        terminal.drop_output()
        refused = UnreadableInput(f"the system refused: {error}", "the output or a file cannot be written or read", "make room there, or choose another place")
        terminal.say(f"kvlab: {refused}")
        return refused.exit_code
    raise error


def _words(argv: Sequence[str] | None) -> list[str]:
    """Return the arguments with a budget such as -5MiB joined to its flag: argparse would take it for a flag, here it is a wrong value."""
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
        command = cast("Command", importlib.import_module(f"kvlab.cli.{name}_" if keyword.iskeyword(name) else f"kvlab.cli.{name}"))
        examples = "\n".join(f"  {line}" for line in command.EXAMPLE.splitlines())
        added = commands.add_parser(
            name,
            help=command.ABOUT,
            description=command.ABOUT[0].upper() + command.ABOUT[1:] + ".",
            epilog=f"example:\n{examples}",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        command.prepare(added)
        added.set_defaults(run=command.run)
    return whole


class _Version(argparse.Action):
    # looked up on request only: the module that knows it is slow to import

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from kvlab.recording import computer

        print(f"kvlab {computer.version_of('kvlab') or 'of a folder that is not installed'}")
        parser.exit()
