"""`kvlab run`: a workload on a real model."""

from __future__ import annotations

import argparse
import sys

from kvlab.cli import arguments
from kvlab.cli.command import Arguments
from kvlab.cli.policy_choice import chosen_policy, workload_choices
from kvlab.cli.scale import add_scale, fit_words, scale_of, time_words
from kvlab.cli.twin_choice import USUAL
from kvlab.workloads import resolve

NAME = "run"
ABOUT = "run a workload on a real model and say what it did to the cache"
EXAMPLE = """kvlab run unrelated:15 --budget 40MiB --out run.kvrec
kvlab run chat:8 --policy kvlab --json
kvlab run A1
kvlab run B --model tiny-hybrid --scale 1/64"""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.workload(parser)
    parser.add_argument(
        "--model",
        metavar="MODEL",
        help="smollm2 (the default), tiny-hybrid or tiny-sliding (the default of experiments on such models), gemma3-270m, a local folder or an mlx-lm id",
    )
    add_scale(parser, "without it, the largest half, quarter, ... that the model can hold and run in a minute or two; a longer run is told before it starts")
    parser.add_argument("--accept-licence", action="store_true", help="accept the licence of an opt-in model")
    arguments.policy(parser)
    arguments.out(parser)
    arguments.call_sites(parser)
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Run it and print."""
    import kvlab
    from kvlab.cli.expected_judged import nothing_judged
    from kvlab.cli.result_print import print_result
    from kvlab.lab.fitting import fitted

    scale = scale_of(args.scale)
    workload = resolve(args.workload, 1.0 if scale is None else scale)
    # a choice that cannot be followed is told before a model is opened or fetched
    chosen_policy(kvlab.Policy(), workload_choices(workload, args.policy), args.policy, args.choices, args.budget)
    lab = kvlab.open(args.model or workload.model or USUAL, accept_licence=args.accept_licence)
    fit = fitted(lab, args.workload, scale)
    workload = fit.workload
    policy = chosen_policy(lab.policy, workload_choices(workload, args.policy), args.policy, args.choices, args.budget)
    if not args.json and (fit.share is not None or fit.of):
        print(fit_words(fit, policy))
    if long := time_words(fit):
        print(long, file=sys.stderr, flush=True)
    progress = arguments.shows_progress(args)
    recording = lab.run(workload, policy, store_text=args.store_text, out=args.out, progress=progress, call_sites=args.call_sites)
    left = nothing_judged("a real model is not the one that the case describes") if workload.expected else None
    print_result(recording, as_json=args.json, judged=left)
    return 0
