"""`python -m tests.tools.conformance [--only ARCHITECTURE] [--out FILE] [--json]`: check every mlx-lm architecture (under 5 minutes).

The exit code is 1 when a row differs from the published table.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from tqdm.auto import tqdm

from kvlab.errors import KvlabError
from kvlab.studies.conformance import published
from tests.tools.conformance import compared, matrix


def main(argv: Sequence[str] | None = None) -> int:
    """Check and print; return the exit code.

    Raises:
        BadValue: there is no architecture of that name, or another file is where the table is to go.
        UnreadableInput: the published table cannot be read, or the new one cannot be written.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.tools.conformance", description=__doc__)
    parser.add_argument("--only", metavar="ARCHITECTURE", action="append", default=[], help="only this one; may be repeated")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write the table to this file (JSON)")
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.add_argument("--json", action="store_true", help="print JSON")
    args = parser.parse_args(argv)
    wanted = matrix.wanted(args.only)
    with tqdm(total=len(wanted), desc="conformance", unit="row", disable=args.json) as bar:
        now, before = compared.of(matrix.rows(wanted, bar.update)), published()
    if args.out:
        compared.write(now, args.out, force=args.force)
    print(json.dumps(compared.to_dict(now, before), indent=2) if args.json else compared.as_text(now, before))
    return 0 if compared.agrees(now, before) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KvlabError as error:
        sys.exit(f"{error}")
