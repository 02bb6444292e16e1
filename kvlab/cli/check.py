"""`kvlab check`: the twin with every invariant and every restored position checked after every step."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.choices import chosen_policy, open_twin, workload_choices
from kvlab.workloads import resolve

ABOUT = "run a workload on span counts and check every rule of the cache after every step; a case file's expected figures are checked too"
EXAMPLE = "kvlab check unrelated:15\nkvlab check tests/cases/tokens/lazy_overwrite.json --set copy_before_overwrite=every_append --json"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.add(parser, "workload", *arguments.POLICY, "--out", "--json")
    parser.add_argument("--layers", metavar="KINDS", help="layer kinds in layer order, such as recurrent,kv, at 1 byte a KV token and 10 a state")


def run(args: argparse.Namespace) -> int:
    """Check and print; 1 when a rule does not hold or a figure is not what the case expects."""
    from kvlab.cli.result import print_result
    from kvlab.cli.result_json import violations
    from kvlab.views.text_table import many

    workload = resolve(args.workload)
    twin = open_twin(workload, layers=args.layers)
    policy = chosen_policy(twin.policy, workload_choices(workload, args.policy), args.policy, args.choices, args.budget)
    recording = twin.run(workload, policy, out=args.out, progress=arguments.shows_progress(args), check=True)
    judged = print_result(args, recording, workload)
    broken = violations(recording)
    if not args.json:
        print(f"\n{many(len(broken), 'violation') if broken else 'no rule was broken'} in {many(len(workload), 'request')}")
    return 1 if broken or (judged is not None and judged.differences) else 0
