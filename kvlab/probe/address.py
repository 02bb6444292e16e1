"""Address: which server is probed. This machine only, unless the user says otherwise; nothing is sent anywhere else."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from urllib.parse import urlsplit

from kvlab.errors import BadValue

DEFAULT_URL = "http://127.0.0.1:11434"
"""Where Ollama listens by default."""

_PORTS = {"http": 11434, "https": 443}


@dataclass(frozen=True, slots=True)
class Address:
    """A server.

    Attributes:
        scheme: http or https.
        host: A name or a number.
        port: Its port.
        path: What comes before `/api`, without a slash at its end.
        is_here: It is this machine, so its processes can be read.
    """

    scheme: str
    host: str
    port: int
    path: str
    is_here: bool

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"


def parse_address(url: str = DEFAULT_URL, *, elsewhere: bool = False) -> Address:
    """Return the server that `url` names: with or without `http://`, by default on port 11434.

    Args:
        url: `http://127.0.0.1:11434`, `localhost:8080`, `[::1]`.
        elsewhere: Another machine may be named.

    Raises:
        BadValue: it names no server, holds a password, or names another machine without `elsewhere`.
    """
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        host, port = parts.hostname or "", parts.port
    except ValueError as error:
        raise _bad(url, str(error)) from None
    if parts.scheme not in _PORTS or not host or parts.query or parts.fragment:
        raise _bad(url, "a server is http://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        # the address may be shown, the password must not be
        raise _bad("the address", "it holds a user name or a password, which kvlab does not send")
    here, host = _is_here(host)
    if not here and not elsewhere:
        raise BadValue(
            what=f"{url!r} is another machine",
            why="a probe talks to this machine only, unless you say otherwise; another machine's processes cannot be read either",
            hint="add --elsewhere (in Python: elsewhere=True) to send the workload's prompts there",
        )
    return Address(parts.scheme, host, port or _PORTS[parts.scheme], parts.path.rstrip("/"), here)


def _is_here(host: str) -> tuple[bool, str]:
    if host.lower() == "localhost":
        return True, host
    try:
        number = ipaddress.ip_address(host)
    except ValueError:
        return False, host
    # a server that listens everywhere is reached here
    return (True, "127.0.0.1" if number.version == 4 else "::1") if number.is_unspecified else (number.is_loopback, host)


def _bad(url: str, why: str) -> BadValue:
    return BadValue(what=f"{url!r} is no server" if "://" in url or ":" in url else f"{url} cannot be used", why=why, hint=f"write for example {DEFAULT_URL}")
