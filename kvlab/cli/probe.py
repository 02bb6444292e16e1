"""`kvlab probe`: look at a live Ollama or any server of its API once, watch it, or run a workload against it."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from kvlab.cli import arguments
from kvlab.cli.scale import scale_of

if TYPE_CHECKING:
    from kvlab.probe import Probe
    from kvlab.recording import Recording

ABOUT = "look at a live Ollama, watch it for a while, or run a workload against it; nothing is unloaded unless the workload says so"
EXAMPLE = """kvlab probe
kvlab probe --watch 600 --out evening.kvrec
kvlab probe --workload unrelated:15 --model qwen3:4b --out probe.kvrec
kvlab probe --workload E2 --seconds 900 --json
kvlab probe --workload E2 --restart-with "brew services restart ollama" --out unload.kvrec"""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--url", metavar="URL", default="http://127.0.0.1:11434", help="the server (default: %(default)s)")
    parser.add_argument(
        "--workload", metavar="W", help="send this workload's requests: a name such as unrelated:15 or A1, or a case file; without it none is sent"
    )
    parser.add_argument("--model", metavar="M", default="", help="the model of the requests; by default the one that is loaded, or the only one there is")
    parser.add_argument("--pid", metavar="P", type=int, help="the server's process; by default the one that listens on the port")
    parser.add_argument("--watch", metavar="SECONDS", type=float, help="take samples for so long and send no request; Ctrl-C ends it")
    parser.add_argument("--every", metavar="SECONDS", type=float, default=2.0, help="time between two samples of --watch (default: %(default)s)")
    parser.add_argument("--read-only", action="store_true", help="read the server's version and lists, and send nothing else")
    parser.add_argument("--requests", metavar="N", type=int, help="requests of the workload at most")
    parser.add_argument("--seconds", metavar="S", type=float, default=3600.0, help="seconds of the workload at most (default: %(default)s)")
    parser.add_argument("--context", metavar="TOKENS", type=int, default=0, help="the context length (num_ctx) of the requests; by default the server's")
    parser.add_argument(
        "--keep-alive", metavar="TIME", default="", help="how long the model stays loaded after a request, such as 10m or -1; by default the server's"
    )
    parser.add_argument("--scale", metavar="F", help="the workload's counts of tokens times F, such as 1/8")
    parser.add_argument("--unload-by", choices=("api", "stop"), default="api", help="how a workload's unload is done: a call, or the command ollama stop")
    parser.add_argument(
        "--restart-with",
        metavar="COMMAND",
        help='the command that a workload\'s restart of the server (E2 has one) may run, such as "sudo systemctl restart ollama"; without it you are '
        "prompted to restart it by hand",
    )
    parser.add_argument(
        "--restart-wait", metavar="SECONDS", type=float, default=300.0, help="how long a restart is waited for (default: %(default)s; 0 leaves it out)"
    )
    parser.add_argument("--log", metavar="FILE", help="the server's log, read as it grows; by default Ollama's usual one")
    parser.add_argument("--elsewhere", action="store_true", help="the URL may be another machine; its processes cannot be seen")
    arguments.add(parser, "--out", "--store-text", "--json")


def run(args: argparse.Namespace) -> int:
    """Probe and print."""
    from kvlab.errors import BadValue, NotAvailable
    from kvlab.probe import Probe
    from kvlab.probe.rows import nothing_to_show, why_unanswered

    if args.workload and args.watch is not None:
        raise BadValue(
            what="--workload and --watch are given", why="one sends requests, the other only watches", hint="run them as two commands, each with its own --out"
        )
    probe = Probe(args.url, pid=args.pid, model=args.model, read_only=args.read_only, elsewhere=args.elsewhere, log=args.log)
    try:
        recording = _recorded(args, probe)
    except KeyboardInterrupt:
        if probe.recording is not None and not nothing_to_show(probe.recording):
            _print(args, probe.recording)
        raise
    # where nothing answered the error alone is printed: a table would be empty
    if nothing_to_show(recording):
        error = NotAvailable(
            what=f"no server of Ollama's API answered at {probe.server.address}",
            why=why_unanswered(recording),
            hint="start it (ollama serve), or name its address with --url; of mlx_lm.server and others, which speak another API, kvlab import reads the log",
        )
        if _kept_earlier(args, recording):
            error.add_note(f"what was recorded is in {recording.path}; the earlier recording {args.out} is as it was")
        raise error
    _print(args, recording)
    if _kept_earlier(args, recording):
        raise NotAvailable(
            what=f"the earlier recording {args.out} was not replaced",
            why=f"of the server at {probe.server.address} only the process was seen: {why_unanswered(recording)}",
            hint=f"what was recorded is in {recording.path}",
        )
    return 0


def _kept_earlier(args: argparse.Namespace, recording: Recording) -> bool:
    from kvlab.errors import followed

    return bool(args.out) and recording.path != followed(args.out)


def _recorded(args: argparse.Namespace, probe: Probe) -> Recording:
    from kvlab.workloads import resolve

    scale, progress = scale_of(args.scale), arguments.shows_progress(args)
    if not args.workload:
        return probe.watch(args.watch or 0.0, every=args.every, out=args.out, progress=progress and bool(args.watch))
    return probe.run(
        resolve(args.workload, 1.0 if scale is None else scale),
        requests=args.requests,
        seconds=args.seconds,
        context=args.context,
        keep_alive=args.keep_alive,
        unload_by=args.unload_by,
        restart=args.restart_with,
        restart_wait_s=args.restart_wait,
        store_text=args.store_text,
        out=args.out,
        progress=progress,
    )


def _print(args: argparse.Namespace, recording: Recording) -> None:
    from kvlab.findings import Findings, diagnose
    from kvlab.views.outside import outside_text

    findings = diagnose(recording) if recording.requests.height else Findings((), recording.warnings)
    if args.json:
        arguments.print_json(_as_dict(recording) | findings.to_dict())
    else:
        print("\n\n".join(part for part in (outside_text(recording), findings.text()) if part))


def _as_dict(recording: Recording) -> dict[str, Any]:
    """Return a probe's recording as JSON holds it; keys are stable. Bytes are whole bytes, `_s` are seconds."""
    from kvlab.probe import request_rows, sample_rows, sign_rows
    from kvlab.views.outside import BYTES

    def rows(table: Any) -> list[dict[str, Any]]:
        return [{(f"{name}_bytes" if name in BYTES else name): value for name, value in row.items() if name != "seq"} for row in table.iter_rows(named=True)]

    manifest = recording.manifest
    origin = manifest.origin
    return {
        "workload": manifest.workload,
        "model": manifest.model,
        "server": {"version": origin.get("server_version", ""), "where": origin.get("server", ""), "port": origin.get("port")},
        "requests": rows(request_rows(recording)),
        "samples": rows(sample_rows(recording)),
        "signs": rows(sign_rows(recording)),
    }
