"""Options of a request as Ollama's API has them: what is followed, what is known and without effect, and the defaults."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from kvlab.errors import BadValue, shown
from kvlab.serve.messages import Sampled
from kvlab.workloads.request import Sampling

NUMBERS = {"temperature": 0.8, "top_p": 0.9, "min_p": 0.0}
"""Options that are numbers, with upstream's defaults."""

WHOLE = {"top_k": 40, "seed": -1, "num_predict": -1, "num_ctx": 0}
"""Options that are whole numbers, with upstream's defaults: -1 draws a seed, and predicts until the model stops or its context is full."""

LARGEST = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Options:
    """What of a request's options is followed.

    Attributes:
        sampled: How tokens are chosen.
        max_new: New tokens at most; 0 or less for as many as the context holds.
        stop: Texts that end the reply.
        context: Tokens that prompt and reply may have together; 0 for the server's own.
    """

    sampled: Sampled
    max_new: int
    stop: tuple[str, ...]
    context: int


def parse_options(given: Mapping[str, Any] | None, defaults: Mapping[str, Any] | None = None) -> Options:
    """Return the options of a request; those that MLX's sampler does not have are left out, as upstream leaves out what it does not know.

    Raises:
        BadValue: one that is followed has another type, or is outside its range.
    """
    merged = {**NUMBERS, **WHOLE, **(defaults or {}), **{name: value for name, value in (given or {}).items() if value is not None}}
    numbers = {name: _number(name, merged[name]) for name in NUMBERS}
    whole = {name: _whole(name, merged[name]) for name in WHOLE}
    seed = whole["seed"] if whole["seed"] >= 0 else None
    # upstream keeps all tokens at 0 and below, and at 1 and above
    top_p = numbers["top_p"] if 0 < numbers["top_p"] < 1 else 1.0
    sampled = Sampled(numbers["temperature"], top_p, max(0, whole["top_k"]), numbers["min_p"], seed)
    Sampling(sampled.temperature, sampled.top_p, sampled.top_k, sampled.min_p, seed).check()
    return Options(sampled, whole["num_predict"], stop_words(merged.get("stop")), max(0, whole["num_ctx"]))


def stop_words(given: object) -> tuple[str, ...]:
    """Return stop words from one text or a list.

    Raises:
        BadValue: it is neither.
    """
    if given is None:
        return ()
    if isinstance(given, str):
        return (given,)
    listed = cast("list[object]", given) if isinstance(given, list) else [None]
    words = tuple(one for one in listed if isinstance(one, str))
    if len(words) == len(listed):
        return words
    shortly = shown(cast("object", given))
    raise BadValue(what=f'option "stop" is {shortly}', why="it is a text or a list of texts", hint='write for example "stop": ["\\n"]')


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value or abs(value) > LARGEST:  # noqa: PLR0124  nan is the number that is not itself
        raise BadValue(what=f'option "{name}" is {shown(value)}', why="it is a number", hint=f"give {name} as a number")
    return float(value)


def _whole(name: str, value: object) -> int:
    number = _number(name, value)
    if number != int(number):
        raise BadValue(what=f'option "{name}" is {shown(value)}', why="it is a whole number", hint=f"give {name} as a whole number")
    return int(number)
