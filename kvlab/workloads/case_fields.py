"""Reading one JSON object of a case: each value is checked as it is taken, and an error names the file, the place and the value."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable
from typing import Any, cast

from kvlab.errors import BadValue, shown

LARGEST_TOKEN = 2**31 - 1


class Fields:
    """One object of a case file.

    Attributes:
        where: File and place, such as `case.json, workload[2]`.
        data: The object.
    """

    __slots__ = ("data", "where")

    def __init__(self, where: str, data: object, keys: Iterable[str]) -> None:
        if not isinstance(data, dict):
            raise BadValue(
                what=f"{where} is {shown(data)}",
                why="an object with named values is needed there",
                hint="see the cases that come with kvlab's tests for the format",
            )
        self.where = where
        self.data = cast("dict[str, Any]", data)
        self._known(tuple(keys))

    def __contains__(self, name: str) -> bool:
        return name in self.data

    def count(self, name: str, default: int = 0, least: int = 0) -> int:
        """Return a whole number of at least `least`."""
        value = self.data.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.bad(name, f"it is a whole number of at least {least}")
        return value

    def number(self, name: str, default: float = 0.0) -> float:
        """Return a number of at least 0."""
        value = self.data.get(name, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value < math.inf:
            raise self.bad(name, "it is a number of at least 0")
        return float(value)

    def flag(self, name: str) -> bool:
        """Return true or false; false when the key is absent."""
        value = self.data.get(name, False)
        if not isinstance(value, bool):
            raise self.bad(name, "it is true or false")
        return value

    def text(self, name: str, default: str = "") -> str:
        """Return a text; a given one is not empty."""
        value = self.data.get(name, default)
        if not isinstance(value, str) or (name in self.data and not value):
            raise self.bad(name, "it is a text that is not empty")
        return value

    def tokens(self, name: str) -> tuple[int, ...]:
        """Return a list of token ids."""
        value = self.data.get(name)
        if not isinstance(value, list) or not all(_is_token(item) for item in cast("list[object]", value)):
            raise self.bad(name, "it is a list of token ids, whole numbers from 0 to 2147483647")
        return tuple(cast("list[int]", value))

    def table(self, name: str) -> dict[str, Any]:
        """Return an object with named values; an empty one when the key is absent."""
        value = self.data.get(name, {})
        if not isinstance(value, dict):
            raise self.bad(name, "it is an object with named values")
        return cast("dict[str, Any]", value)

    def bad(self, name: str, rule: str, hint: str = "correct the value") -> BadValue:
        """Return the error for key `name`, naming its value."""
        return BadValue(what=f"{self.where}: {name} is {shown(self.data.get(name))}", why=rule, hint=hint)

    def missing(self, name: str, rule: str) -> BadValue:
        """Return the error for key `name` that should be there."""
        return BadValue(what=f"{self.where}: {name} is missing", why=rule, hint=f"add {name}")

    def _known(self, keys: tuple[str, ...]) -> None:
        for name in self.data:
            if name not in keys:
                near = difflib.get_close_matches(name, keys, n=1)
                raise BadValue(
                    what=f"{self.where}: unknown key {name!r}",
                    why=f"the keys there are {', '.join(keys)}",
                    hint=f"did you mean {near[0]!r}?" if near else "remove the key",
                )


def _is_token(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_TOKEN
