"""What a JSON or TOML file holds, as typed values: msgspec checks them, and an error names the file, the place, the key, the value and the known keys.

A type is a msgspec Struct or a dataclass, whose annotations say what a value may be: `Annotated[int, Meta(ge=0)]`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from types import UnionType
from typing import Annotated, Any, Generic, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta, inspect

from kvlab.errors import BadValue, shown

T = TypeVar("T")

Text = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0, le=1.7e308)]
"""A number that is neither negative nor infinite."""

_STEP = re.compile(r"\.([^.\[]+)|\[(\d+|\.\.\.)\]")
_AT = re.compile(r" - at (?:(`key`) in )?`\$(.*)`$")
_OBJECTS = (inspect.StructType, inspect.DataclassType, inspect.DictType)
_LISTS = (inspect.ListType, inspect.VarTupleType, inspect.TupleType)


class Placed(Generic[T]):
    """An object of a file: its values, and where it is. `"key" in placed` says whether the file gives the key.

    Attributes:
        where: File and place, such as `case.json, workload[2]`.
        data: The object as the file has it.
        values: The same, typed.
    """

    __slots__ = ("data", "values", "where")

    def __init__(self, where: str, data: object, kind: type[T]) -> None:
        self.where, self.values = where, typed(data, kind, where)
        self.data = cast("dict[str, Any]", data)

    def __contains__(self, name: str) -> bool:
        return name in self.data

    def bad(self, name: str, rule: str, hint: str = "correct the value") -> BadValue:
        """Return the error for key `name`, naming its value."""
        return BadValue(what=f"{self.where}: {name} is {shown(self.data.get(name))}", why=rule, hint=hint)

    def missing(self, name: str, rule: str) -> BadValue:
        """Return the error for key `name` that should be there."""
        return BadValue(what=f"{self.where}: {name} is missing", why=rule, hint=f"add {name}")


def typed(data: object, kind: type[T], where: str = "") -> T:
    """Return `data` as a value of `kind`.

    Args:
        data: What a JSON or TOML file holds.
        kind: The type.
        where: File and place, for errors.

    Raises:
        BadValue: a key is unknown or missing, or a value cannot be used.
    """
    try:
        return msgspec.convert(data, kind)
    except msgspec.ValidationError as error:
        raise _explained(str(error), data, kind, where) from None


def require_known(data: Collection[str], known: Collection[str], where: str) -> None:
    """Check that an object has no other keys than `known`.

    Raises:
        BadValue: it has.
    """
    for name in data:
        if name not in known:
            raise _unknown(name, known, where)


def _explained(message: str, value: Any, kind: Any, where: str, path: str = "") -> BadValue:
    """Return the error for what msgspec says of `value`, which is at `path` within `where`."""
    at = _AT.search(message)
    before: tuple[str, Any, Any] = path, value, kind
    for step in _STEP.finditer(at[2] if at else ""):
        name, index = step[1], step[2]
        if index == "...":
            kind = get_args(_of(kind, inspect.DictType))[1]
            name, one, message = _first_wrong(value.items(), kind)
            return _explained(message, one, kind, where, f"{path}.{name}" if path else name)
        # a value of a list is shown with the whole list, unless it should have been an object
        before = path, value, kind
        if name:
            path, value, kind = f"{path}.{name}" if path else name, value[name], _fields(kind)[name]
        else:
            items = get_args(_of(kind, _LISTS))
            path, value, kind = f"{path}[{index}]", value[int(index)], items[int(index) if len(items) > 1 and items[1] is not ... else 0]
    place = ", ".join(filter(None, (where, path)))
    if found := re.match(r"Object (missing required|contains unknown) field `(.*?)`", message, re.DOTALL):
        known = _fields(kind)
        if found[1] == "missing required":
            return BadValue(what=f"{place}: {found[2]} is missing", why=f"the keys there are {', '.join(known)}", hint=f"add {found[2]}")
        return _unknown(found[2], known, place)
    if at and at[1]:
        key_kind = get_args(_of(kind, inspect.DictType))[0]
        name, _, _ = _first_wrong(((key, key) for key in value), key_kind)
        return BadValue(what=f"{place}: unknown key {name!r}", why=f"a key there is {_words(inspect.type_info(key_kind))}", hint="correct the key")
    if path.endswith("]") and _of(kind, _OBJECTS) is None:
        path, value, kind = before
    parent, _, key = path.rpartition(".")
    place = f"{', '.join(filter(None, (where, parent)))}: {key}" if where and path else where or path
    expected = message.startswith(("Expected", "Invalid enum value"))
    return BadValue(what=f"{place} is {shown(value)}", why=f"it is {_words(inspect.type_info(kind))}" if expected else message, hint="correct the value")


def _unknown(name: str, known: Collection[str], place: str) -> BadValue:
    near = difflib.get_close_matches(name, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "remove the key"
    return BadValue(what=f"{place}: unknown key {name!r}", why=f"the keys there are {', '.join(known)}", hint=hint)


def _first_wrong(values: Iterable[tuple[str, object]], kind: Any) -> tuple[str, Any, str]:
    """Return the name of the first value that is not of `kind`, the value, and what msgspec says of it: of a table's entries it names none."""
    for name, one in values:
        try:
            msgspec.convert(one, kind)
        except msgspec.ValidationError as error:
            return name, one, str(error)
    raise AssertionError(kind)


def _of(kind: Any, infos: Any) -> Any:
    """Return the type of `kind`, or of its union, that is an object, a table or a list; None without one."""
    if get_origin(kind) is Annotated:
        return _of(get_args(kind)[0], infos)
    if get_origin(kind) in (Union, UnionType):
        return next((found for one in get_args(kind) if (found := _of(one, infos)) is not None), None)
    return kind if isinstance(inspect.type_info(kind), infos) else None


def _fields(kind: Any) -> dict[str, Any]:
    """Return the types of an object's keys."""
    made = _of(kind, _OBJECTS)
    hints = get_type_hints(made, include_extras=True)
    return dict(zip(getattr(made, "__struct_encode_fields__", hints), map(hints.get, getattr(made, "__struct_fields__", hints)), strict=True))


def _words(info: inspect.Type) -> str:  # noqa: PLR0911  a line a type
    """Return in words what a value of a type is."""
    if isinstance(info, inspect.Metadata):
        said: dict[str, str] = getattr(info, "extra_json_schema", None) or {}
        return said.get("description") or _words(info.type)
    if isinstance(info, inspect.IntType | inspect.FloatType):
        word = "a whole number" if isinstance(info, inspect.IntType) else "a number"
        least, most = info.ge or 0, info.le or (info.lt and info.lt - 1)
        most = None if most is None or most > 1e300 else most
        return f"{word} of at least {least}" if most is None else f"{word} from {least} to {most:,}"
    if isinstance(info, inspect.LiteralType):
        return f"one of {', '.join(map(str, info.values))}"
    if isinstance(info, inspect.UnionType):
        return " or ".join(map(_words, info.types))
    if isinstance(info, inspect.ListType | inspect.VarTupleType):
        return f"a list{' of at least one' if info.min_length else ''}, each {_words(info.item_type)}"
    if isinstance(info, inspect.TupleType):
        return f"a list of {len(info.item_types)}, each {_words(info.item_types[0])}"
    if isinstance(info, inspect.StrType):
        return f"a text{' that is not empty' if info.min_length else ''}"
    return "an object with named values" if isinstance(info, _OBJECTS) else "true or false" if isinstance(info, inspect.BoolType) else "nothing"
