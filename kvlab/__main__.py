"""Runs the command line as `python -m kvlab`."""

from __future__ import annotations

import sys

from kvlab.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
