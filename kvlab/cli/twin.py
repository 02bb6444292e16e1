"""`kvlab twin`: a workload on span counts, for any shape at any scale."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from kvlab.cli import arguments
from kvlab.cli.choices import chosen_policy, open_twin, workload_choices
from kvlab.cli.scale import add_scale, pace_words, scale_of
from kvlab.errors import KvlabError
from kvlab.temporary import TemporaryFolder
from kvlab.units import parse_bytes
from kvlab.workloads import resolve

if TYPE_CHECKING:
    from kvlab.recording import Recording

ABOUT = (
    "run a workload on span counts: simulates the cache without a model, to the byte; its tokens are simplified, "
    "so next to a real run compare shapes, not figures"
)
EXAMPLE = """kvlab twin unrelated:60 --shape qwen3.8-27b
kvlab twin unrelated:60 --shape my-model/config.json --budget 2GiB
kvlab twin D4:before
kvlab twin requests.jsonl --shape qwen3.8-27b
kvlab twin my_case.json --set capture_grid=4096 --json"""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.add(parser, "workload", *arguments.POLICY, "--machine", "--out", "--store-text", "--call-sites", "--json")
    parser.add_argument(
        "--shape",
        metavar="SHAPE",
        help="a shipped shape (such as qwen3.8-27b), a model's config.json or its folder, or a shape's .json file; by default the case's own, else smollm2",
    )
    add_scale(parser, "without it, the published sizes")


def run(args: argparse.Namespace) -> int:
    """Run it and print."""
    from kvlab.cli.result import print_result
    from kvlab.lab.fitting import fitted, require_room_for_chats

    scale = scale_of(args.scale)
    machine = None if args.machine is None else parse_bytes(args.machine)
    workload = resolve(args.workload)
    twin = open_twin(workload, shape=args.shape)
    if scale is not None:
        workload = fitted(twin, args.workload, scale).workload
    policy = chosen_policy(twin.policy, workload_choices(workload, args.policy), args.policy, args.choices, args.budget)
    progress = arguments.shows_progress(args)
    require_room_for_chats(twin, workload)
    if long := pace_words(twin, workload, policy):
        print(long, file=sys.stderr, flush=True)
    recording = _until_interrupted(
        lambda out: twin.run(workload, policy, store_text=args.store_text, out=out, progress=progress, call_sites=args.call_sites),
        args.out,
        lambda so_far: print_result(args, so_far, machine=machine),
    )
    print_result(args, recording, workload, machine=machine)
    return 0


def _until_interrupted(run: Callable[[str], Recording], out: str | None, show: Callable[[Recording], object]) -> Recording:
    """Return what `run` records into the folder that it is given: `out`, else one that is removed at the end.

    Raises:
        KeyboardInterrupt: it was interrupted; `show` has printed what was recorded until then, also when nothing is kept.
    """
    from kvlab.recording import load
    from kvlab.recording.place import recorded_in

    with TemporaryFolder() if out is None else nullcontext() as folder:
        try:
            return run(str(folder / "run.kvrec") if folder else str(out))
        except KeyboardInterrupt as stopped:
            if place := recorded_in(stopped):
                with suppress(KvlabError):
                    show(load(place))
            raise
