"""A row in a process of its own: `python -m tests.tools.conformance.process < question > answer`.

The question is JSON: `architecture`, `config` and `needed` as `random_net.build` takes them, and `vocabulary`. The answer is JSON: `architecture`, `result`
(ok, or the first reason why not), `caches`, and what each check said. A process that dies answers nothing; its parent sees how it ended.
"""

# pyright: standard
from __future__ import annotations

import json
import sys

from tests.tools.conformance import light


def main() -> None:
    """Answer the question on standard input."""
    light.import_nets_alone()

    import mlx.core as mx

    from kvlab.models import blas
    from tests.tools.conformance.row import row

    # compiled element-wise functions would need a C++ compiler and seconds on a CPU; they compute the same
    mx.disable_compile()
    blas.route()
    question = json.load(sys.stdin)
    answer = row(**question)
    sys.stdout.write(f"{json.dumps(answer)}\n")


if __name__ == "__main__":
    main()
