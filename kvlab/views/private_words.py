"""Taking out of a text what a reader elsewhere must not see: absolute paths, addresses, and the name of whoever runs this.

Paths of a server's API lose their slash, so that what is left of a slash at a word's beginning is no path.
"""

from __future__ import annotations

import getpass
import re
from contextlib import suppress
from pathlib import Path

PATH = "(a path)"
ADDRESS = "(an address)"
USER = "(a user)"
ACCOUNT = "ACCOUNT"
"""Is in the middle of a model's name, and stays the same when it is read again."""

_API = re.compile(r"(?<![\w.])/(api|v1|proc)/")
_PATHS = re.compile(
    r"(?:file://\S+)|(?<![\w./<])(?:~[\w.-]*|[A-Za-z]:)?(?:[\\/][\w.@+%,=~-]+(?: [\w.@+%,=~-]+(?=[\\/]))*){1,}[\\/]?"
    r"|(?<![\w])[A-Za-z]:[\\/]\S*|(?<![\w.])~[\\/]\S*|\\\\[\w.-]+\\\S+"
)
_ACCOUNTS = re.compile(r"(?i)\b((?:hf\.co|huggingface\.co|modelscope\.(?:cn|ai))/)[\w.-]+(?=/)")
_ADDRESSES = re.compile(r"[\w.+-]+@[\w.-]+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|https?://\S+")


def without_places(text: str) -> str:
    """Return the text without absolute paths and addresses; an API's `/api/ps` becomes `api/ps`."""
    return _PATHS.sub(PATH, _ADDRESSES.sub(ADDRESS, _API.sub(r"\1/", text)))


def recorded_words(text: str) -> str:
    """Return words that came out of a recording without places, the account a model was fetched from, and the name of this system's user."""
    found = _ACCOUNTS.sub(rf"\1{ACCOUNT}", without_places(text))
    for name in _users():
        found = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", USER, found, flags=re.IGNORECASE)
    return found


def _users() -> set[str]:
    names = {Path.home().name}
    # a system may have no name for its user
    with suppress(OSError, KeyError):
        names.add(getpass.getuser())
    return {name for name in names if len(name) > 1}
