"""The command line: one file a command, each parses, makes one call and prints. `main` returns the exit code."""

from __future__ import annotations

from kvlab.cli.main import main

__all__ = ["main"]
