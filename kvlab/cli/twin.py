"""`kvlab twin`: a workload on span counts, for any shape at any scale."""

from __future__ import annotations

import argparse
import sys

from kvlab.cli import arguments
from kvlab.cli.command import Arguments
from kvlab.cli.expected import control_of, not_as_it_stands
from kvlab.cli.policy_choice import chosen_policy, workload_choices
from kvlab.cli.scale import add_scale, pace_words, scale_of
from kvlab.cli.twin_choice import open_twin
from kvlab.units import parse_bytes
from kvlab.workloads import resolve

NAME = "twin"
ABOUT = "run a workload on span counts: no model, every byte to the byte; its tokens are simplified, so beside a real run compare shapes, not figures"
EXAMPLE = """kvlab twin unrelated:60 --shape qwen3.8-27b
kvlab twin unrelated:60 --shape my-model/config.json --budget 2GiB
kvlab twin D4:before
kvlab twin requests.jsonl --shape qwen3.8-27b
kvlab twin my_case.json --set capture_grid=4096 --json"""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.workload(parser)
    parser.add_argument(
        "--shape",
        metavar="SHAPE",
        help="a shipped shape (such as qwen3.8-27b), a model's config.json or its folder, or a shape's .json file; by default the case's own, else smollm2",
    )
    add_scale(parser, "without it, the published sizes")
    arguments.policy(parser)
    arguments.machine(parser)
    arguments.out(parser)
    arguments.call_sites(parser)
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Run it and print."""
    from kvlab.cli.result_print import print_result
    from kvlab.cli.until_interrupted import until_interrupted
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
    recording = until_interrupted(
        lambda out: twin.run(workload, policy, store_text=args.store_text, out=out, progress=progress, call_sites=args.call_sites),
        args.out,
        lambda so_far: print_result(so_far, as_json=args.json, machine=machine),
    )
    left = not_as_it_stands(workload, args)
    control = control_of(workload, progress=progress) if left is None else None
    print_result(recording, as_json=args.json, workload=workload, control=control, judged=left, machine=machine)
    return 0
