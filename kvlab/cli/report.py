"""`kvlab report`: a recording as one HTML file that works offline, or as a block of Markdown for an issue tracker."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from kvlab.cli import arguments

if TYPE_CHECKING:
    from kvlab.findings import Findings
    from kvlab.findings.checklist import Checklist
    from kvlab.recording import Recording

ABOUT = "write a recording, a log or a table as one HTML file that works offline, or as Markdown for an issue tracker"
EXAMPLE = """kvlab report demo.kvrec -o report.html
kvlab report server.log --markdown
kvlab report probe.kvrec --also unload.kvrec --note thresholds="1 %, 30 s\""""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.server_input(parser)
    parser.add_argument("-o", "--out", metavar="FILE", help="the file to write (default: report.html; Markdown is printed)")
    arguments.add(parser, "--force")
    parser.add_argument("--markdown", action="store_true", help="a block to paste into an issue: verdicts, figures, versions; no prompts, paths or names")
    parser.add_argument(
        "--note", metavar="ITEM=WORDS", action="append", default=[], help="what you know of an item of the checklist and no recording has; may be repeated"
    )
    parser.add_argument(
        "--also", metavar="RECORDING", action="append", default=[], help="another recording of the same server that fills the checklist; may be repeated"
    )


def run(args: argparse.Namespace) -> int:
    """Write it and say where."""
    from kvlab.findings import diagnose

    recording = arguments.open_recording(args)
    findings = diagnose(recording, shape=args.shape, policy=args.policy, machine=args.machine)
    filled = _checklist(args, recording, findings)
    if not args.markdown:
        from kvlab.views.report import write_report

        print(f"wrote {write_report(recording, args.out or 'report.html', findings, filled, force=args.force)}")
        return 0
    from kvlab.views.markdown_block import markdown_block
    from kvlab.views.report import MARKDOWN, write_text

    block = markdown_block(recording, findings, filled)
    if args.out:
        print(f"wrote {write_text(block, args.out, MARKDOWN, force=args.force)}")
    else:
        print(block, end="")
    return 0


def _checklist(args: argparse.Namespace, recording: Recording, findings: Findings) -> Checklist | None:
    """Return the checklist of a server; a run of our own has none unless --note or --also fill it."""
    from kvlab.findings.checklist import checklist
    from kvlab.recording.facts import OWN

    if recording.manifest.source in OWN and not args.note and not args.also:
        return None
    also = [arguments.open_recording(argparse.Namespace(recording=name, salvage=args.salvage)) for name in args.also]
    return checklist(recording, findings, notes=dict(map(_note, args.note)), also=also)


def _note(given: str) -> tuple[str, str]:
    from kvlab.errors import BadValue

    name, equals, words = given.partition("=")
    if not equals or not words.strip():
        raise BadValue(what=f"the note {given!r} cannot be read", why="a note is ITEM=WORDS", hint='write for example --note thresholds="1 %, 30 s, daily"')
    return name.strip(), words
