"""`kvlab import`: a log, a table or a tool's output as a recording."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kvlab.cli import arguments

if TYPE_CHECKING:
    from kvlab.importers import Imported

ABOUT = "read a log, a table or a tool's output into a recording; the kind is recognised, and lines that are not understood are shown"
EXAMPLE = "kvlab import server.log.gz -o server.kvrec\njournalctl -u ollama | kvlab import - -o server.kvrec\nkvlab import samples.csv --as table --json"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a server's log, tools' outputs, JSON answers, tables, or all of them in one text; packed (gzip, xz) or not; - is standard input",
    )
    parser.add_argument("more", metavar="FILE", nargs="*", help="further files of the same server: all make one recording, on one time axis")
    parser.add_argument("--as", metavar="KIND", dest="kind", help="what it is, when it is not recognised; a wrong KIND lists them all")
    arguments.add(parser, "--out", "--json")


def run(args: argparse.Namespace) -> int:
    """Read it, and print what it holds, what every figure was taken as, and what was not understood."""
    from kvlab.importers import import_files
    from kvlab.views.text_table import many

    imported = import_files([args.file, *args.more], args.kind, args.out)
    if args.json:
        arguments.print_json(_as_dict(args, imported))
        return 0
    print(f"{imported.kind}: {many(imported.requests, 'request')}, {imported.events:,} events")
    print(imported.summary)
    print(_figures(imported))
    print(f"wrote {imported.path}" if args.out else "nothing was kept; -o NAME.kvrec keeps the recording")
    return 0


def _figures(imported: Imported) -> str:
    """Return what the figures of the text were taken as, or why they were left, as a table."""
    from kvlab.views import text_table

    rows = [(f"{count:,}", text, line, name) for name, count, text, line in imported.account.table()]
    return text_table.columns(("figures", "first", "line", "taken as"), rows, left=(3,)) if rows else "the text has no figure"


def _as_dict(args: argparse.Namespace, imported: Imported) -> dict[str, Any]:
    from kvlab.events import UNDERSTOOD

    return {
        "kind": imported.kind,
        "requests": imported.requests,
        "events": imported.events,
        "lines": imported.summary.total(),
        "figures": [
            {"taken": one.taken or None, "left": one.why or None, "text": one.text, "line": one.line, "column": one.start + 1}
            for one in imported.account.figures()
        ],
        **{understood: imported.summary.of(understood) for understood in UNDERSTOOD},
        "recording": str(imported.path) if args.out else None,
    }
