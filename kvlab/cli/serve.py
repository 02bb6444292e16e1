"""`kvlab serve`: real models behind Ollama's and OpenAI's HTTP API, every request recorded."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvlab.cli import arguments
from kvlab.cli.choices import chosen_policy, single_choices
from kvlab.errors import BadValue

if TYPE_CHECKING:
    from kvlab.policy import Policy
    from kvlab.serve.settings import Settings

ABOUT = "serve models behind the HTTP API of Ollama and OpenAI, and record every request"
EXAMPLE = """kvlab serve
kvlab serve smollm2 --keep-alive 10m --out served
kvlab serve tiny-hybrid tiny-sliding --max-loaded 1 --port 8080 --budget 40MiB"""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument(
        "models", metavar="MODEL", nargs="*", help="what clients may call: a name, a local folder or an mlx-lm id; by default the models that kvlab brings"
    )
    parser.add_argument("--host", metavar="HOST", help="where to listen (default: OLLAMA_HOST, or 127.0.0.1: this machine only)")
    parser.add_argument("--port", metavar="PORT", type=int, help="the port (default: OLLAMA_HOST's, or 11434); 0 for any free one")
    parser.add_argument("--keep-alive", metavar="TIME", help="how long a model stays loaded after its last request, such as 10m, 0 or -1 (default: 5m)")
    parser.add_argument("--max-loaded", metavar="N", type=int, help="models loaded at once (default: 3); the idle one used least recently goes")
    parser.add_argument("--out", "-o", metavar="FOLDER", help="keep recordings in this folder, one for each load of a model")
    parser.add_argument("--accept-licence", action="store_true", help="accept the licence of opt-in models")
    arguments.add(parser, *arguments.POLICY, "--store-text")
    parser.set_defaults(out_holds_files=True)


def run(args: argparse.Namespace) -> int:
    """Serve until a signal ends it."""
    from kvlab.serve.app import serve

    host, port, settings = _chosen(args)
    for line in settings.without_effect:
        print(f"kvlab: {line}", file=sys.stderr)

    def ready(url: str, _: Any) -> None:
        print(f"{', '.join(settings.models)} at {url}; Ctrl-C ends it", flush=True)

    serve(settings, host, port, ready=ready)
    return 0


def _chosen(args: argparse.Namespace) -> tuple[str, int, Settings]:
    from kvlab.serve.catalogue import served_names
    from kvlab.serve.keep_alive import parse_setting
    from kvlab.serve.settings import DEFAULT_PORT, Settings, from_environment

    found: dict[str, Any] = {"host": "127.0.0.1", "port": DEFAULT_PORT, **from_environment()}
    given = {
        "host": args.host,
        "port": args.port,
        "most_loaded": args.max_loaded,
        "keep_alive_s": None if args.keep_alive is None else parse_setting(args.keep_alive),
    }
    found |= {name: value for name, value in given.items() if value is not None}
    host, port = found.pop("host"), found.pop("port")
    if not 0 <= port <= 2**16 - 1:
        raise BadValue(what=f"no server can listen on port {port}", why="ports are 1 to 65535 (0: any free one)", hint="write for example --port 11434")
    settings = Settings(
        models=served_names(args.models),
        policy=_policy(args),
        own_chunk="prefill_chunk" in single_choices(args.choices),
        out=None if args.out is None else Path(args.out).expanduser().absolute(),
        store_text=args.store_text,
        accept_licence=args.accept_licence,
        **found,
    )
    return host, port, settings


def _policy(args: argparse.Namespace) -> Policy:
    """Return the policy; `fit` and `close`, which a run refuses, act here."""
    from kvlab.policy import OF_A_SERVER, Policy

    of_a_server = {name: value for name, value in single_choices(args.choices).items() if name in OF_A_SERVER}
    rest = [choice for choice in args.choices if choice.partition("=")[0].strip() not in OF_A_SERVER]
    return chosen_policy(Policy(), {}, args.policy, rest, args.budget).replace(**of_a_server)
