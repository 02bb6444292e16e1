"""Settings of a server: its flags, and the environment variables that people set for Ollama, each honoured or named as without effect."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from kvlab.errors import BadValue
from kvlab.policy import Policy
from kvlab.serve.keep_alive import DEFAULT_S, parse_setting

DEFAULT_PORT = 11434

MOST_WAITING = 512
"""Upstream's default of OLLAMA_MAX_QUEUE."""

MOST_LOADED = 3
"""Upstream's default: 3 for each GPU."""

HONOURED = ("OLLAMA_HOST", "OLLAMA_KEEP_ALIVE", "OLLAMA_MAX_LOADED_MODELS", "OLLAMA_MAX_QUEUE", "OLLAMA_CONTEXT_LENGTH", "OLLAMA_ORIGINS")

WITHOUT_EFFECT = {
    "OLLAMA_KV_CACHE_TYPE": "upstream's MLX runner does not follow it either: keys and values stay as computed",
    "OLLAMA_FLASH_ATTENTION": "MLX chooses its attention kernel itself",
    "OLLAMA_GPU_OVERHEAD": "what is free is not reduced by it",
    "OLLAMA_MODELS": "models come from kvlab's names, folders and ids",
    "OLLAMA_LOAD_TIMEOUT": "a load is not timed out: it ends with the model loaded or with the process's end",
    "OLLAMA_NOPRUNE": "nothing is stored that could be pruned",
    "OLLAMA_SCHED_SPREAD": "there is one device",
}
"""Variables that are read and change nothing, and why."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What a server is started with.

    Attributes:
        models: Names under which models are served, and how each is opened.
        policy: The choices of every runner's cache, and what a server follows: `fit` and `close`.
        own_chunk: The policy's prefill chunk is used as it is, whatever the device.
        keep_alive_s: How long a model stays loaded after its last request.
        most_loaded: Models loaded at once.
        most_waiting: Requests that may wait for one model.
        context: Tokens that a request may take, prompt and reply together; 0 for the model's own.
        origins: Web pages that may call besides those of this machine.
        out: Recordings, one for each load of a model, go into this folder; None to keep none.
        store_text: Prompts and answers are kept in them.
        accept_licence: The licences of opt-in models are accepted.
        without_effect: Variables that are set and change nothing.
    """

    models: Mapping[str, str]
    policy: Policy = field(default_factory=Policy)
    own_chunk: bool = False
    keep_alive_s: float = DEFAULT_S
    most_loaded: int = MOST_LOADED
    most_waiting: int = MOST_WAITING
    context: int = 0
    origins: tuple[str, ...] = ()
    out: Path | None = None
    store_text: bool = False
    accept_licence: bool = False
    without_effect: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value, least in (("max loaded", self.most_loaded, 1), ("max queue", self.most_waiting, 0), ("context length", self.context, 0)):
            if value < least:
                raise BadValue(what=f"{name} is {value}", why=f"it is at least {least}", hint=f"give {name} as a whole number of at least {least}")


def from_environment(variables: Mapping[str, str] = os.environ) -> dict[str, object]:
    """Return the settings that environment variables give, by the fields of `Settings`; `host` and `port` too, if OLLAMA_HOST is set.

    Raises:
        BadValue: a value cannot be read, or requests of one model are to run at once.
    """
    found: dict[str, object] = {}
    if (several := variables.get("OLLAMA_NUM_PARALLEL", "")) not in ("", "0", "1"):
        raise BadValue(
            what=f"OLLAMA_NUM_PARALLEL is {several}",
            why="a runner serves one request at a time, as upstream's MLX runner does: its cache follows one path",
            hint="unset it, or set it to 1; requests wait for their turn",
        )
    if text := variables.get("OLLAMA_KEEP_ALIVE"):
        found["keep_alive_s"] = parse_setting(text)
    for name, place in (("OLLAMA_MAX_LOADED_MODELS", "most_loaded"), ("OLLAMA_MAX_QUEUE", "most_waiting"), ("OLLAMA_CONTEXT_LENGTH", "context")):
        if text := variables.get(name):
            found[place] = _whole(name, text)
    # upstream reads 0 as its own default
    if found.get("most_loaded") == 0:
        del found["most_loaded"]
    if text := variables.get("OLLAMA_ORIGINS"):
        found["origins"] = tuple(part.strip() for part in text.split(",") if part.strip())
    if text := variables.get("OLLAMA_HOST"):
        found["host"], found["port"] = parse_host(text)
    found["without_effect"] = tuple(f"{name} is without effect: {why}" for name, why in WITHOUT_EFFECT.items() if variables.get(name))
    return found


def parse_host(text: str) -> tuple[str, int]:
    """Return the host and the port of OLLAMA_HOST: `0.0.0.0`, `:8080`, `http://127.0.0.1:11434`, `[::1]:11434`.

    Raises:
        BadValue: it names none.
    """
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(text if "://" in text else f"http://{text}")
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise BadValue(what=f"OLLAMA_HOST is {text!r}", why=str(error), hint="write for example 127.0.0.1:11434") from None
    return host or "127.0.0.1", DEFAULT_PORT if port is None else port


def _whole(name: str, text: str) -> int:
    if not text.strip().isdecimal():
        raise BadValue(what=f"{name} is {text!r}", why="it is a whole number", hint=f"set {name} to a whole number")
    return int(text)
