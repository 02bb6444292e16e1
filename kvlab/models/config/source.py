"""Reading a model's config.json: a file, or a folder that holds one. The error for a field that cannot be used names the file, the field and its value."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from kvlab.errors import BadValue, UnreadableInput, shown

MOST_BYTES = 32 * 2**20
"""A bigger config.json is not read: the largest ones, with a quantisation for each tensor, take a few MiB."""


@dataclass(frozen=True, slots=True)
class Config:
    """A model's config.

    Attributes:
        where: The file as errors name it.
        data: Its fields.
        folder: Its folder, which may hold the weights too; None for a config without a folder.
    """

    where: str
    data: dict[str, Any]
    folder: Path | None = None

    @property
    def text(self) -> dict[str, Any]:
        """The fields of the language model: `text_config` over the others."""
        inner = self.data.get("text_config")
        return self.data | cast("dict[str, Any]", inner) if isinstance(inner, dict) else self.data

    def bad(self, field: str, value: object, why: str, hint: str = "correct the value") -> BadValue:
        """Return the error for a field that cannot be used."""
        return BadValue(what=f"{self.where}: {field} is {shown(value)}", why=why, hint=hint)

    def missing(self, field: str, why: str) -> BadValue:
        """Return the error for a field that is not there."""
        return BadValue(what=f"{self.where}: {field} is missing", why=why, hint=f"add {field}, or give the config.json that came with the model")


def read_config(path: Path) -> Config:
    """Return the config in the file `path`, or in the folder `path`.

    Raises:
        UnreadableInput: there is no such file, or it holds no JSON object.
    """
    file = path / "config.json" if path.is_dir() else path
    try:
        if file.stat().st_size > MOST_BYTES:
            raise UnreadableInput(
                what=f"{file} is {file.stat().st_size} bytes",
                why=f"a config of more than {MOST_BYTES} bytes is not read",
                hint="give a model's config.json",
            )
        data: object = json.loads(file.read_text(encoding="utf-8-sig"))
    except OSError as error:
        why = "a model's folder has one" if path.is_dir() else (error.strerror or str(error))
        raise UnreadableInput(what=f"{file} cannot be read", why=why, hint="give a config.json, or a folder that holds one") from None
    except (ValueError, RecursionError) as error:
        raise UnreadableInput(what=f"{file} is no JSON", why=str(error), hint="get the file anew") from None
    if not isinstance(data, dict):
        raise UnreadableInput(what=f"{file} holds {shown(data)}", why="a config is an object with named values", hint="give a model's config.json")
    return Config(where=str(file), data=cast("dict[str, Any]", data), folder=file.parent)


def cached_folder(name: str) -> Path | None:
    """Return where the hub's own cache on this machine has the model `name` (owner/model); None when it does not. Nothing is fetched."""
    from huggingface_hub import constants, errors, try_to_load_from_cache

    try:
        found = try_to_load_from_cache(name, "config.json", cache_dir=constants.HF_HUB_CACHE)
    except errors.HFValidationError:
        return None
    return Path(found).parent if isinstance(found, str) else None
