"""What is known about a model before anything is fetched: plain data (the models are in `known.py`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Part:
    """A file inside a Python package.

    Attributes:
        package: The package's name in the index.
        version: Its version.
        member: The file's path inside the package, its first folder being the import name.
        download_bytes: How much a package client downloads for it.
    """

    package: str
    version: str
    member: str
    download_bytes: int


@dataclass(frozen=True, slots=True)
class PackagedFile:
    """A file that is carried by packages: its parts, in order, put together; or one that kvlab carries itself.

    Attributes:
        name: The file's name; of a file without parts its path in `data/`.
        parts: Where it comes from; none when it is shipped with kvlab.
        sha256: The digest of the whole file.
    """

    name: str
    parts: tuple[Part, ...]
    sha256: str


@dataclass(frozen=True, slots=True)
class Licence:
    """A model's licence.

    Attributes:
        name: What it is called.
        where: Where it can be read.
        accept_env: The environment variable that accepts it when set to 1; "" when nothing needs accepting.
    """

    name: str
    where: str
    accept_env: str = ""


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model that kvlab opens by a short name.

    Attributes:
        name: The short name.
        title: What the model is called by its makers.
        file: Its weights.
        licence: Its licence.
        reader: Which reader loads the file: `gguf_llama`, `gguf_gemma3` or `shipped_net`.
    """

    name: str
    title: str
    file: PackagedFile
    licence: Licence
    reader: str
