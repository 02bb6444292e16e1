"""Errors a user can cause: what happened (with the value), why, and what to do.

The command line prints these three lines and no traceback, and leaves with `exit_code`: 2 wrong use, 3 an input that cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kvlab.visible_text import visible


class KvlabError(Exception):
    """An error with a hint.

    Attributes:
        what: What happened, with the value that caused it.
        why: The rule that was not met.
        hint: What to do next.
        exit_code: What the command line returns.

    Example:
        >>> import kvlab
        >>> try:
        ...     kvlab.load("nowhere.kvrec")
        ... except kvlab.KvlabError as error:
        ...     print(error.hint)
        check the name; a recording is a folder NAME.kvrec or the same zipped
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


def require_path(value: object) -> Path:
    """Return `value` as an absolute path, `~` followed.

    Raises:
        BadValue: it is no path.
    """
    if not isinstance(value, str | Path) or "\0" in str(value):
        raise BadValue(what=f"{shown(value)} is no path", why="a path is text, or a pathlib.Path, without a NUL in it", hint="write for example 'run.kvrec'")
    try:
        return Path(value).expanduser().absolute()
    except RuntimeError as error:
        raise BadValue(what=f"{str(value)!r} is no path", why=str(error).lower(), hint="write the path without ~") from None


def followed(path: str | Path) -> Path:
    """Return an absolute path with its links followed.

    Raises:
        BadValue: it is no path.
        UnreadableInput: its links lead round in a circle, or may not be read.
    """
    try:
        return require_path(path).resolve()
    except (OSError, RuntimeError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise UnreadableInput(what=f"{str(path)!r} cannot be written", why=reason, hint="choose a folder that you may write to and that has room") from None


def require_type(name: str, value: object, kinds: type | tuple[type, ...], words: str) -> None:
    """Check that a value is of a type, described by `words`; True and False are no numbers.

    Raises:
        BadValue: it is not.
    """
    if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is int):
        raise BadValue(what=f"{name} is {shown(value)}", why=f"it is {words}", hint=f"give {name} as {words}")


def require_types(values: Iterable[tuple[str, object, type | tuple[type, ...], str]]) -> None:
    """Check the types of several values, each as in `require_type`."""
    for value in values:
        require_type(*value)
