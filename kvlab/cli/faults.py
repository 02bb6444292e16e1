"""`kvlab faults`: the catalogue of known defects; with a name, its trigger in both arms."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.command import Arguments

NAME = "faults"
ABOUT = "the catalogue of known defects; with a name, its trigger runs in both arms, on the twin and on real arrays, and what differs is shown"
EXAMPLE = "kvlab faults\nkvlab faults F-14\nkvlab faults F-06 --json\nkvlab faults C --twin-only"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="an entry's id such as F-14, or words of its name; C for experiment C in full, which takes minutes; without it the catalogue is listed",
    )
    parser.add_argument("--twin-only", action="store_true", help="run it on span counts only, not on real arrays")
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """List the catalogue, or run one entry; what a fault arm shows is what was asked for, so the code is 0."""
    from kvlab.studies import faults
    from kvlab.studies.faults.text import entry_text

    if args.name is None:
        if args.json:
            arguments.print_json({"faults": [fault.to_dict() for fault in faults.CATALOGUE.values()]})
        else:
            print(faults.as_text())
        return 0
    shown = faults.show(args.name, arrays=not args.twin_only)
    fault = shown[0].fault
    if args.json:
        arms = [arm for one in shown for arm in one.arms_to_dict()]
        arguments.print_json({"id": fault.id, "fault": fault.to_dict(), "differ_in": sorted({name for one in shown for name in one.diff}), "arms": arms})
    else:
        print(entry_text(fault, shown))
    return 0
