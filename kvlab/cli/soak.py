"""`kvlab soak`: random operations under every check, on all layer sets and versions."""

from __future__ import annotations

import argparse

from kvlab.cli import arguments
from kvlab.cli.command import Arguments

NAME = "soak"
ABOUT = "random requests on span counts under every check, on all layer sets and versions; each must show exactly its known defects"
EXAMPLE = "kvlab soak\nkvlab soak --ops 1000000 --seed 7\nkvlab soak --ops 2000 --set copy_before_overwrite=first_append"


def prepare(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    parser.add_argument("--ops", type=int, metavar="N", help="operations (requests) to run: 20,000, the default, or more; with --set any number")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the same seed gives the same requests (default: 0)")
    parser.add_argument(
        "--set",
        metavar="FIELD=VALUE",
        action="append",
        default=[],
        dest="choices",
        help="plant a choice in every version, to see the soak fail; may be repeated",
    )
    arguments.as_json(parser)


def run(args: Arguments) -> int:
    """Soak and print; 1 when a version showed something else than what is known of it."""
    from tqdm.auto import tqdm

    from kvlab.cli.policy_choice import single_choices
    from kvlab.errors import BadValue
    from kvlab.studies import soak

    operations = soak.OPERATIONS if args.ops is None else args.ops
    if operations < soak.OPERATIONS and not args.choices:
        raise BadValue(
            what=f"{operations:,} operations are too few for a verdict",
            why=f"rare defects show after many requests: about 13,000 with seed 0; {soak.OPERATIONS:,} show every known one with room to spare",
            hint=f"write --ops {soak.OPERATIONS} or more, or leave it out; with --set, which is there to see the soak fail, any number will do",
        )
    with tqdm(total=operations, desc="soak", unit="request", disable=not arguments.shows_progress(args)) as bar:
        found = soak.soak(operations, args.seed, choices=single_choices(args.choices), each=bar.update)
    if args.json:
        arguments.print_json(found.to_dict())
    else:
        print(soak.as_text(found))
    return 0 if found.passed else 1
