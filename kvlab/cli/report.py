"""`kvlab report`: a recording as one HTML file that works offline, or as a block of Markdown for an issue tracker."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kvlab.cli import arguments
from kvlab.cli.command import Arguments
from kvlab.cli.recorded import open_recording

if TYPE_CHECKING:
    from kvlab.diagnose import Findings
    from kvlab.diagnose.checklist import Checklist
    from kvlab.recording import Recording

NAME = "report"
ABOUT = "write a recording, a log or a table as one HTML file that works offline, or as Markdown for an issue tracker"
EXAMPLE = (
    'kvlab report demo.kvrec -o report.html\nkvlab report server.log --markdown\nkvlab report probe.kvrec --also unload.kvrec --note thresholds="1 %, 30 s"'
)


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.recording(parser, or_file=True)
    parser.add_argument("-o", "--out", metavar="FILE", help="the file to write (default: report.html; Markdown is printed)")
    arguments.force(parser)
    parser.add_argument("--markdown", action="store_true", help="a block to paste into an issue: verdicts, figures, versions; no prompts, paths or names")
    parser.add_argument("--shape", metavar="S", help="the model's shape, when it is not recognised: a shipped name, a config.json, or a folder with one")
    parser.add_argument("--policy", metavar="VERSION", help="the server's rules, when its version is not told: a release such as 0.32.5, or main")
    arguments.machine(parser)
    parser.add_argument(
        "--note", metavar="ITEM=WORDS", action="append", default=[], help="what you know of an item of the checklist that no recording tells; may be repeated"
    )
    parser.add_argument(
        "--also", metavar="RECORDING", action="append", default=[], help="another recording of the same server that fills the checklist; may be repeated"
    )


def run(args: Arguments) -> int:
    """Write it and say where."""
    from kvlab.diagnose import diagnose

    recording = open_recording(args)
    findings = diagnose(recording, shape=args.shape, policy=args.policy, machine=args.machine)
    filled = _checklist(args, recording, findings)
    if args.markdown:
        return _markdown(args, recording, findings, filled)
    from kvlab.views.report import write_report

    print(f"wrote {write_report(recording, args.out or 'report.html', findings, filled, force=args.force)}")
    return 0


def _checklist(args: Arguments, recording: Recording, findings: Findings) -> Checklist | None:
    """Return the checklist of a server; a run of our own has none unless it is asked for."""
    from kvlab.diagnose.checklist import checklist
    from kvlab.recording.facts import OWN

    if recording.manifest.source in OWN and not args.note and not args.also:
        return None
    also = [open_recording(argparse.Namespace(recording=name, salvage=args.salvage)) for name in args.also]
    return checklist(recording, findings, notes=dict(map(_note, args.note)), also=also)


def _note(given: str) -> tuple[str, str]:
    from kvlab.errors import BadValue

    name, equals, words = given.partition("=")
    if not equals or not words.strip():
        raise BadValue(what=f"the note {given!r} cannot be read", why="a note is ITEM=WORDS", hint='write for example --note thresholds="1 %, 30 s, daily"')
    return name.strip(), words


def _markdown(args: Arguments, recording: Recording, findings: Findings, filled: Checklist | None) -> int:
    from kvlab.views.markdown_block import markdown_block
    from kvlab.views.report import MARKDOWN, write_text

    block = markdown_block(recording, findings, filled)
    if args.out:
        print(f"wrote {write_text(block, args.out, MARKDOWN, force=args.force)}")
    else:
        print(block, end="")
    return 0
