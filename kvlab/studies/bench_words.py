"""What all benches say alike: how far they are, on what machine they ran, and that at least one round is needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kvlab.errors import BadValue

Say = Callable[[str], object]
"""Takes a line as soon as there is something to tell."""


def unsaid(line: str) -> None:
    """Tell nobody."""
    del line


def require_rounds(rounds: int, usual: int) -> None:
    """Check that a bench measures something.

    Raises:
        BadValue: `rounds` is below 1.
    """
    if rounds < 1:
        raise BadValue(what=f"--rounds {rounds} measures nothing", why="each side runs at least once", hint=f"use {usual}")


def machine_words(machine: Mapping[str, object]) -> str:
    """Return the facts of a machine as one line's words."""
    return "machine: " + ", ".join(f"{name} {value}" for name, value in machine.items())
