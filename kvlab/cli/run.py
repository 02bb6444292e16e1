"""`kvlab run`: a workload on a real model."""

from __future__ import annotations

import argparse
import sys

from kvlab.cli import arguments
from kvlab.cli.choices import USUAL_MODEL, chosen_policy, workload_choices
from kvlab.cli.scale import add_scale, fit_words, scale_of, time_words
from kvlab.workloads import resolve

ABOUT = "run a workload on a real model and say what it did to the cache"
EXAMPLE = """kvlab run unrelated:15 --budget 40MiB --out run.kvrec
kvlab run chat:8 --policy kvlab --json
kvlab run A1
kvlab run B --model tiny-hybrid --scale 1/64"""


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.add(parser, "workload", *arguments.POLICY, "--out", "--store-text", "--call-sites", "--json")
    parser.add_argument(
        "--model",
        metavar="MODEL",
        help="smollm2 (the default), tiny-hybrid or tiny-sliding (the default of experiments on such models), gemma3-270m, a local folder or an mlx-lm id",
    )
    add_scale(parser, "without it, the largest half, quarter, ... that the model can hold and run in a minute or two; warns before a run longer than that")
    parser.add_argument("--accept-licence", action="store_true", help="accept the licence of an opt-in model")


def run(args: argparse.Namespace) -> int:
    """Run it and print."""
    import kvlab
    from kvlab.cli.result import print_result
    from kvlab.lab.fitting import fitted

    scale = scale_of(args.scale)
    workload = resolve(args.workload, 1.0 if scale is None else scale)
    # a choice that cannot be followed is refused before a model is opened or fetched
    chosen_policy(kvlab.Policy(), workload_choices(workload, args.policy), args.policy, args.choices, args.budget)
    lab = kvlab.open(args.model or workload.model or USUAL_MODEL, accept_licence=args.accept_licence)
    fit = fitted(lab, args.workload, scale)
    workload = fit.workload
    policy = chosen_policy(lab.policy, workload_choices(workload, args.policy), args.policy, args.choices, args.budget)
    if not args.json and (fit.share is not None or fit.of):
        print(fit_words(fit, policy))
    if long := time_words(fit):
        print(long, file=sys.stderr, flush=True)
    progress = arguments.shows_progress(args)
    recording = lab.run(workload, policy, store_text=args.store_text, out=args.out, progress=progress, call_sites=args.call_sites)
    print_result(args, recording, workload)
    return 0
