"""Errors a user can cause: what happened (with the value), why, and what to do.

The command line prints these three lines and no traceback, and leaves with `exit_code`: 2 wrong use, 3 an input that cannot be read.
"""

from __future__ import annotations

from kvlab.visible_text import visible


class KvlabError(Exception):
    """An error with a hint.

    Attributes:
        what: What happened, with the value that caused it.
        why: The rule that was not met.
        hint: What to do next.
        exit_code: What the command line returns.
    """

    exit_code = 2

    def __init__(self, what: str, why: str, hint: str) -> None:
        self.what, self.why, self.hint = visible(what), visible(why), visible(hint)
        super().__init__(f"{self.what}\n  why: {self.why}\n  do:  {self.hint}")


class BadValue(KvlabError):
    """A value, name or key that kvlab does not know or cannot use (exit code 2)."""


class NotAvailable(KvlabError):
    """Something this machine lacks or a licence not yet accepted: a model, a network, a browser (exit code 2)."""


class UnreadableInput(KvlabError):
    """A file or recording that cannot be read, or a folder that cannot be written (exit code 3)."""

    exit_code = 3


def shown(value: object) -> str:
    """Return a value as an error's `what` prints it: at most 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
