"""`kvlab run`: a workload on a real model."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.command import Arguments
from kvlab.cli.policy_choice import chosen_policy
from kvlab.workloads import resolve

NAME = "run"
ABOUT = "run a workload on a real model and say what it did to the cache"
EXAMPLE = "kvlab run unrelated:15 --budget 40MiB --out run.kvrec\nkvlab run chat:8 --policy kvlab --json"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.workload(parser)
    parser.add_argument("--model", metavar="MODEL", default="smollm2", help="smollm2 (the default), gemma3-270m, a local folder or an mlx-lm id")
    parser.add_argument("--accept-licence", action="store_true", help="accept the licence of an opt-in model")
    arguments.policy(parser)
    arguments.out(parser)
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Run it and print."""
    import kvlab
    from kvlab.cli.result_print import print_result

    workload = resolve(args.workload)
    # a choice that cannot be followed is told before a model is opened or fetched
    chosen_policy(kvlab.Policy(), workload.policy, args.policy, args.choices, args.budget)
    lab = kvlab.open(args.model, accept_licence=args.accept_licence)
    policy = chosen_policy(lab.policy, workload.policy, args.policy, args.choices, args.budget)
    recording = lab.run(workload, policy, store_text=args.store_text, out=args.out, progress=arguments.shows_progress(args))
    print_result(recording, as_json=args.json)
    return 0
