"""What a kernel started by `kvlab lab` runs first: it loads the extension, then the startup file that the user had.

A kernel runs this file by its path, in the user's namespace, so it leaves no name behind.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

BEFORE = "KVLAB_PYTHONSTARTUP"
"""The environment variable that keeps the user's own PYTHONSTARTUP."""


def main() -> None:
    """Load the extension if this is IPython, then run the user's own startup file."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None:
        shell.run_line_magic("load_ext", "kvlab")
    before = os.environ.get(BEFORE, "")
    if before and Path(before).is_file():
        runpy.run_path(before)


if __name__ == "__main__" and "IPython" in sys.modules:
    main()
    del annotations, os, runpy, sys, Path, BEFORE, main
