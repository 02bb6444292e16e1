"""`kvlab import`: a log, a table or a tool's output as a recording."""

from __future__ import annotations

import argparse
from typing import Any

from kvlab.cli import arguments
from kvlab.cli.command import Arguments

NAME = "import"
ABOUT = "read a log, a table or a tool's output into a recording; the kind is recognised, and lines that are not understood are shown"
EXAMPLE = "kvlab import server.log.gz -o server.kvrec\njournalctl -u ollama | kvlab import - -o server.kvrec\nkvlab import samples.csv --as table --json"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="Ollama's server.log, `ollama ps` or /api/ps, vmmap, footprint, ps, vm_stat, tables of figures; packed (gzip, xz) or not; - is standard input",
    )
    parser.add_argument("more", metavar="FILE", nargs="*", help="further files of the same server: all make one recording, on one time axis")
    parser.add_argument("--as", metavar="KIND", dest="kind", help="what it is, when it is not recognised; a wrong KIND names them all")
    parser.add_argument("-o", "--out", metavar="NAME.kvrec", help="keep the recording in this folder")
    parser.set_defaults(recording_folder=_out)
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Read it, and say what it holds and what was not understood."""
    from kvlab.importers import Imported, import_files

    imported: Imported = import_files([args.file, *args.more], args.kind, args.out)
    if args.json:
        arguments.print_json(_told(args, imported))
        return 0
    print(f"{imported.kind}: {imported.requests:,} request{'' if imported.requests == 1 else 's'}, {imported.events:,} events")
    print(imported.summary)
    print(f"wrote {imported.path}" if args.out else "nothing was kept; -o NAME.kvrec keeps the recording")
    return 0


def _told(args: Arguments, imported: Any) -> dict[str, Any]:
    from kvlab.events import UNDERSTOOD

    return {
        "kind": imported.kind,
        "requests": imported.requests,
        "events": imported.events,
        "lines": imported.summary.total(),
        **{understood: imported.summary.of(understood) for understood in UNDERSTOOD},
        "recording": str(imported.path) if args.out else None,
    }


def _out(args: argparse.Namespace) -> str | None:
    return args.out
