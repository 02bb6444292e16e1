"""`kvlab check`: the twin with every invariant and every restored position checked after every step."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.command import Arguments
from kvlab.cli.expected import control_of, not_as_it_stands
from kvlab.cli.policy_choice import chosen_policy, workload_choices
from kvlab.cli.twin_choice import open_twin
from kvlab.workloads import resolve

NAME = "check"
ABOUT = "run a workload on span counts and check every rule of the cache after every step; a case file's expected figures are checked too"
EXAMPLE = "kvlab check unrelated:15\nkvlab check tests/cases/tokens/lazy_overwrite.json --set copy_before_overwrite=every_append --json"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    arguments.workload(parser)
    parser.add_argument("--layers", metavar="KINDS", help="layer kinds in layer order, such as recurrent,kv, at 1 byte a KV token and 10 a state")
    arguments.policy(parser)
    arguments.out(parser, with_text=False)
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Check and print; 1 when a rule does not hold or a figure is not what the case expects."""
    from kvlab.cli.result_json import violations
    from kvlab.cli.result_print import print_result

    workload = resolve(args.workload)
    twin = open_twin(workload, layers=args.layers)
    policy = chosen_policy(twin.policy, workload_choices(workload, args.policy), args.policy, args.choices, args.budget)
    recording = twin.run(workload, policy, out=args.out, progress=arguments.shows_progress(args), check=True)
    left = not_as_it_stands(workload, args)
    control = control_of(workload, progress=arguments.shows_progress(args)) if left is None else None
    judged = print_result(recording, as_json=args.json, workload=workload, control=control, judged=left)
    broken = violations(recording)
    if not args.json:
        print(f"\n{'no rule was broken' if not broken else f'{len(broken)} violations'} in {len(workload)} request{'' if len(workload) == 1 else 's'}")
    return 1 if broken or (judged is not None and judged.differences) else 0
