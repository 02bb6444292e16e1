"""Gets a file that is carried by packages: from the cache folder, an installed package, or the network, in that order.

Invariants: a path that is returned leads to a file with the digest it should have; a file in the cache folder with another digest
is removed; an installed package whose file has another digest is left alone, and the pinned version is fetched instead.
"""

from __future__ import annotations

import hashlib
import importlib.util
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from kvlab import cache_folder
from kvlab.errors import NotAvailable, UnreadableInput
from kvlab.models import package_client
from kvlab.models.packaged import PackagedFile, Part

BLOCK = 1 << 20
"""Bytes copied or hashed at a time."""


def fetch(file: PackagedFile) -> Path:
    """Return where `file` is on this machine, downloading it on first use.

    Raises:
        NotAvailable: it is not here, and there is no network or no package client.
        UnreadableInput: its digest is wrong (it is removed), or the cache folder cannot be written.
    """
    installed = [_installed(part) for part in file.parts]
    if len(installed) == 1 and installed[0] is not None:
        if _digest(installed[0]) == file.sha256:
            return installed[0]
        installed = [None]
    is_new = False

    def make(scratch: Path) -> Path:
        nonlocal is_new
        is_new = True
        return _assembled(file, installed, scratch)

    path = cache_folder.once(file.name, make)
    if not is_new:
        _check(path, file)
    return path


def _installed(part: Part) -> Path | None:
    """Return `part`'s file in an installed package, found without importing the package."""
    module, _, inside = part.member.partition("/")
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / inside
    return path if path.is_file() else None


def _assembled(file: PackagedFile, installed: Sequence[Path | None], scratch: Path) -> Path:
    """Put the parts of `file` together in the folder `scratch`; return the checked result."""
    whole = scratch / file.name
    downloads: list[Path | None] = [None] * len(file.parts)
    # the parts' own digests are not known: if the whole is wrong, any installed part may be of another version
    if any(installed):
        _put_together(file, installed, whole)
        if _digest(whole) == file.sha256:
            return whole
    _put_together(file, downloads, whole)
    _check(whole, file)
    return whole


def _put_together(file: PackagedFile, sources: Sequence[Path | None], whole: Path) -> None:
    """Write the parts of `file` one after another into `whole`: from where they are installed, or downloaded where that is None."""
    from tqdm.auto import tqdm

    needed = sum(part.download_bytes for part, path in zip(file.parts, sources, strict=True) if path is None)
    with whole.open("wb") as out, tqdm(total=needed, desc=f"getting {file.name}", unit="B", unit_scale=True, disable=not needed) as bar:
        done = 0
        for place, (part, path) in enumerate(zip(file.parts, sources, strict=True)):
            if path is not None:
                with path.open("rb") as source:
                    shutil.copyfileobj(source, out, BLOCK)
                continue
            _download(part, whole.with_name(f"part{place}"), out, bar, done, file)
            done += part.download_bytes
            _show(bar, done)


def _download(part: Part, folder: Path, out: IO[bytes], bar: Any, done: int, file: PackagedFile) -> None:
    folder.mkdir()
    try:
        package_client.download(part, folder, lambda size: _show(bar, done + min(size, part.download_bytes)))
    except NotAvailable as error:
        hint = f"{error.hint}; or put the file at {cache_folder.place(file.name)}"
        raise NotAvailable(what=error.what, why=error.why, hint=hint) from error
    with package_client.opened(part, folder) as source:
        shutil.copyfileobj(source, out, BLOCK)
    shutil.rmtree(folder)


def _show(bar: Any, size: int) -> None:
    bar.update(max(size - int(bar.n), 0))


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check(path: Path, file: PackagedFile) -> None:
    digest = _digest(path)
    if digest != file.sha256:
        raise _wrong(path, digest, file)


def _wrong(path: Path, digest: str, file: PackagedFile) -> UnreadableInput:
    """Remove the file at `path` and return the error for it."""
    path.unlink()
    return UnreadableInput(
        what=f"{path} has the wrong checksum and was removed",
        why=f"its SHA-256 is {digest}, it should be {file.sha256}",
        hint="run it again: the file is then fetched anew",
    )
