"""Arguments that several commands share, with the same names and words everywhere."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from kvlab.errors import BadValue


def workload(parser: argparse.ArgumentParser) -> None:
    """Add WORKLOAD."""
    parser.add_argument(
        "workload",
        metavar="WORKLOAD",
        help="a name such as unrelated:15 (the same as unrelated), chat:8, agent or ladder:1024..131072, an experiment such as A1 or D4:before, "
        "a case file (.json), or a trace (.jsonl of block ids, .csv of arrivals and lengths, packed or not)",
    )


def recording(parser: argparse.ArgumentParser, *, or_file: bool = False) -> None:
    """Add RECORDING and --salvage; `or_file` says that a file which can be imported will do."""
    more = "; or a log, a table or a tool's output, which is imported first (kvlab import says what can be read)" if or_file else ""
    parser.add_argument("recording", metavar="RECORDING", help=f"a folder NAME.kvrec, or the same zipped{more}")
    if or_file:
        parser.add_argument("more", metavar="FILE", nargs="*", help="further files of the same server, such as samples of its bytes: all make one recording")
    parser.add_argument("--salvage", action="store_true", help="read what is left of a damaged recording")


def policy(parser: argparse.ArgumentParser) -> None:
    """Add --policy, --set and --budget."""
    parser.add_argument(
        "--policy",
        metavar="NAME",
        help="main: the rules of today's upstream main (the default); 0.32.5: those of that release, from 0.30.7 on; "
        "kvlab: main, and eviction also when a request closes",
    )
    parser.add_argument("--set", metavar="FIELD=VALUE", action="append", default=[], dest="choices", help="set one choice of the policy; may be repeated")
    parser.add_argument("--budget", metavar="BYTES", help="the cache's budget with its unit, such as 8GiB")


def out(parser: argparse.ArgumentParser, *, with_text: bool = True) -> None:
    """Add --out, and --store-text unless the command's replies have no text."""
    parser.add_argument("--out", metavar="NAME.kvrec", help="keep the recording in this folder")
    parser.set_defaults(recording_folder=_out)
    if with_text:
        parser.add_argument("--store-text", action="store_true", help="keep prompts and answers in the recording")


def force(parser: argparse.ArgumentParser) -> None:
    """Add --force."""
    parser.add_argument("--force", action="store_true", help="replace a file that is there, also one that this command did not make")


def require_out_outside(args: argparse.Namespace) -> None:
    """Check, before a command begins, that its --out names something outside every recording's folder; nothing changes.

    A command that puts several files into the folder says so with the argument default `out_holds_files`.

    Raises:
        BadValue: it names nothing, is inside one, or would be written into one.
    """
    out: str | None = getattr(args, "out", None)
    if out is None:
        return
    if not out.strip():
        raise BadValue(what=f"{out!r} is no name for --out", why="a file or folder has a name", hint="write for example --out run.kvrec")
    from kvlab.recording.place import require_outside

    # a command's recording may take the place of an earlier one, and one file over it is refused by who writes it; files beside its own are not
    require_outside(Path(out), itself="out_holds_files" in args)


def _out(args: argparse.Namespace) -> str | None:
    return args.out


def call_sites(parser: argparse.ArgumentParser) -> None:
    """Add --call-sites."""
    parser.add_argument("--call-sites", action="store_true", help="record which Python code asked for each piece of bytes; no path of this machine is told")


def machine(parser: argparse.ArgumentParser) -> None:
    """Add --machine."""
    parser.add_argument("--machine", metavar="BYTES", help="all bytes of the machine with their unit, such as 64GiB, when the input does not have them")


def as_json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="print the result as JSON and nothing else")


def print_json(data: dict[str, Any]) -> None:
    """Print a result as JSON on standard output."""
    print(json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False))


def shows_progress(args: argparse.Namespace) -> bool:
    """Return whether a progress bar belongs on the terminal: not beside JSON, not into a file."""
    return not args.json and sys.stderr.isatty()
