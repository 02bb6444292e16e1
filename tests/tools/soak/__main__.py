"""`python -m tests.tools.soak [--ops N] [--seed S] [--set FIELD=VALUE]`: random requests on span counts, on all layer sets and versions.

The exit code is 1 when a version showed something else than what is known of it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from tqdm.auto import tqdm

from kvlab.cli.choices import single_choices
from kvlab.errors import BadValue, KvlabError
from tests.tools import soak


def main(argv: Sequence[str] | None = None) -> int:
    """Soak and print; return the exit code.

    Raises:
        BadValue: the operations are too few for a verdict, or a choice is none.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.tools.soak", description=__doc__)
    parser.add_argument("--ops", type=int, metavar="N", help="operations (requests) to run: 20,000, the default, or more; with --set any number")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="the same seed gives the same requests (default: 0)")
    planted = "plant a choice in every version, to see the soak fail; may be repeated"
    parser.add_argument("--set", metavar="FIELD=VALUE", action="append", default=[], dest="choices", help=planted)
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    operations = soak.OPERATIONS if args.ops is None else args.ops
    if operations < soak.OPERATIONS and not args.choices:
        raise BadValue(
            what=f"{operations:,} operations are too few for a verdict",
            why=f"rare defects show after many requests: about 13,000 with seed 0; {soak.OPERATIONS:,} show every known one with room to spare",
            hint=f"write --ops {soak.OPERATIONS} or more, or leave it out; with --set, which is there to see the soak fail, any number will do",
        )
    with tqdm(total=operations, desc="soak", unit="request", disable=args.json) as bar:
        found = soak.soak(operations, args.seed, choices=single_choices(args.choices), each=bar.update)
    print(json.dumps(found.to_dict(), indent=2) if args.json else soak.as_text(found))
    return 0 if found.passed else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KvlabError as error:
        sys.exit(f"{error}")
