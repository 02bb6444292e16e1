"""What every command is: a module with these names. Modules of commands import only light floors at their top, so `--help` is quick."""

from __future__ import annotations

import argparse
from typing import Protocol

Arguments = argparse.Namespace


class Command(Protocol):
    """One command.

    Attributes:
        NAME: What the user types after `kvlab`.
        ABOUT: What it does, in one line.
        EXAMPLE: Lines to type, shown by `--help`.
    """

    NAME: str
    ABOUT: str
    EXAMPLE: str

    def prepare(self, parser: argparse.ArgumentParser) -> None:
        """Declare the arguments."""
        ...

    def run(self, args: Arguments) -> int:
        """Do it and print; return the exit code.

        Raises:
            KvlabError: the user can do something about it.
        """
        ...
