"""What several commands share: arguments with the same names and help everywhere, opening the recording they name, and printing a result."""

from __future__ import annotations

import argparse
import json
import sys
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from kvlab.errors import BadValue

if TYPE_CHECKING:
    from kvlab.recording import Recording

POLICY = ("--policy", "--set", "--budget")
"""What changes the policy of a run."""

_FLAG = {"action": "store_true"}
_SHARED: dict[str, dict[str, Any]] = {
    "workload": {
        "metavar": "WORKLOAD",
        "help": "a name such as unrelated:15 (the same as unrelated), chat:8, agent or ladder:1024..131072, an experiment such as A1 or D4:before, "
        "a case file (.json), or a trace (.jsonl of block ids, .csv of arrivals and lengths, packed or not)",
    },
    "--policy": {
        "metavar": "NAME",
        "help": "main: the rules of today's upstream main (the default); 0.32.5: those of that release, from 0.30.7 on; "
        "kvlab: main, and eviction also when a request closes",
    },
    "--set": {"metavar": "FIELD=VALUE", "action": "append", "default": [], "dest": "choices", "help": "set one choice of the policy; may be repeated"},
    "--budget": {"metavar": "BYTES", "help": "the cache's budget with its unit, such as 8GiB"},
    "--machine": {"metavar": "BYTES", "help": "all bytes of the machine with their unit, such as 64GiB, when the input does not have them"},
    "--out": {"metavar": "NAME.kvrec", "help": "keep the recording in this folder"},
    "--store-text": _FLAG | {"help": "keep prompts and answers in the recording"},
    "--call-sites": _FLAG | {"help": "record the Python functions that allocate each piece of bytes; paths of this machine are not stored"},
    "--force": _FLAG | {"help": "replace a file that is there, also one that this command did not make"},
    "--salvage": _FLAG | {"help": "read what is left of a damaged recording"},
    "--json": _FLAG | {"help": "print the result as JSON and nothing else"},
}


def add(parser: argparse.ArgumentParser, *names: str) -> None:
    """Add shared arguments by name; one with `--out` keeps its recording there."""
    for name in names:
        parser.add_argument(*(("-o", name) if name == "--out" else (name,)), **_SHARED[name])
    if "--out" in names:
        parser.set_defaults(recording_folder=attrgetter("out"))


def recording(parser: argparse.ArgumentParser) -> None:
    """Add RECORDING and --salvage."""
    parser.add_argument("recording", metavar="RECORDING", help="a folder NAME.kvrec, or the same zipped")
    add(parser, "--salvage")


def server_input(parser: argparse.ArgumentParser) -> None:
    """Add RECORDING or files that can be imported, and what they may not say: the model's shape, the server's rules, the machine's bytes."""
    parser.add_argument(
        "recording",
        metavar="RECORDING",
        help="a folder NAME.kvrec, or the same zipped; or a log, a table or a tool's output, which is imported first (kvlab import says what can be read)",
    )
    parser.add_argument("more", metavar="FILE", nargs="*", help="further files of the same server, such as samples of its bytes: all make one recording")
    parser.add_argument("--shape", metavar="S", help="the model's shape, when it is not recognised: a shipped name, a config.json, or a folder with one")
    parser.add_argument("--policy", metavar="VERSION", help="the server's rules, when the input does not name its version: a release such as 0.32.5, or main")
    add(parser, "--machine", "--salvage")


def open_recording(args: argparse.Namespace) -> Recording:
    """Return the recording that `args.recording` names; another file, or `-`, is imported, with those of `args.more`.

    Lines that were not understood are listed on standard error.

    Raises:
        UnreadableInput: it cannot be read.
    """
    from kvlab.findings.facts import is_importable
    from kvlab.importers.inputs import STANDARD
    from kvlab.recording import load

    more: list[str] = getattr(args, "more", None) or []
    if not more and args.recording != STANDARD and not is_importable(Path(args.recording).expanduser()):
        return load(args.recording, strict=not args.salvage)
    from kvlab.events import UNDERSTOOD
    from kvlab.importers import import_files

    imported = import_files([args.recording, *more])
    if imported.summary.total(UNDERSTOOD[-1]) or imported.summary.notes:
        print(imported.summary, file=sys.stderr)
    return imported.recording


def require_out_outside(args: argparse.Namespace) -> None:
    """Check, before a command begins, that its --out names something outside every recording's folder; nothing changes.

    A command that writes several files into the folder has the argument default `out_holds_files`.

    Raises:
        BadValue: it names nothing, is inside one, or would be written into one.
    """
    out: str | None = getattr(args, "out", None)
    if out is None:
        return
    if not out.strip() or out == "-":
        raise BadValue(what=f"{out!r} is no name for --out", why="a file or folder has a name", hint="write for example --out run.kvrec")
    from kvlab.recording.place import require_outside

    # a command's recording may replace an earlier one, and who writes one file refuses to replace another; several files go into a folder of their own
    require_outside(Path(out), itself="out_holds_files" in args)


def shows_progress(args: argparse.Namespace) -> bool:
    """Return whether to draw a progress bar: on a terminal, and not with --json."""
    return not args.json and sys.stderr.isatty()


class Printable(Protocol):
    """A result that prints as text and as JSON."""

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        ...


def show(args: argparse.Namespace, result: Printable) -> None:
    """Print a result: with --json one JSON object and nothing else."""
    if args.json:
        print_json(result.to_dict())
    else:
        print(result)


def print_json(data: dict[str, Any]) -> None:
    """Print a result as JSON on standard output."""
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))
