"""`kvlab top`: what each loaded model of a server holds, again and again."""

from __future__ import annotations

import argparse
import sys
from contextlib import suppress
from dataclasses import asdict

from kvlab.cli import arguments

ABOUT = "show what each loaded model of a kvlab server or an Ollama holds, again every two seconds; it sends no request and Ctrl-C ends it"
EXAMPLE = """kvlab top
kvlab top --once
kvlab top --url http://127.0.0.1:8080 --json"""

CLEAR = "\x1b[H\x1b[2J"
"""What a terminal takes for an empty screen."""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--url", metavar="URL", default="http://127.0.0.1:11434", help="the server (default: %(default)s)")
    parser.add_argument("--every", metavar="SECONDS", type=float, default=2.0, help="time between two tables (default: %(default)s)")
    parser.add_argument("--once", action="store_true", help="print one table and end")
    parser.add_argument("--elsewhere", action="store_true", help="the URL may be another machine; its processes cannot be seen")
    arguments.add(parser, "--json")


def run(args: argparse.Namespace) -> int:
    """Print tables until Ctrl-C, or one.

    Raises:
        NotAvailable: for one table, no server answers.
    """
    from kvlab.errors import BadValue, NotAvailable
    from kvlab.probe import Probe
    from kvlab.probe.top import loaded_models
    from kvlab.views.top_text import top_text

    if not args.every >= 0.05:
        raise BadValue(what=f"the time between two tables is {args.every} s", why="it must be at least 0.05", hint="write for example --every 2")
    once = args.once or args.json
    probe = Probe(args.url, read_only=True, elsewhere=args.elsewhere)
    with suppress(KeyboardInterrupt):
        for sample in probe.samples(args.every):
            if sample.trouble is not None and once:
                raise NotAvailable(
                    what=f"no server of Ollama's API answered at {probe.server.address}",
                    why=sample.trouble.message,
                    hint="start one (kvlab serve, or ollama serve), or name its address with --url",
                )
            models = loaded_models(sample, probe.server.metrics())
            if args.json:
                arguments.print_json({"models": [asdict(model) for model in models]})
            else:
                said = top_text(models, sample) if sample.trouble is None else f"{probe.server.address}: {sample.trouble.message}"
                print(f"{CLEAR if sys.stdout.isatty() and not once else ''}{said}", flush=True)
            if once:
                return 0
    return 0
