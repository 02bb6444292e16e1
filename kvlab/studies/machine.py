"""What this machine can run: versions, the device MLX computes on, the BLAS it uses, a browser, models at hand, room on the disk.

Nothing is installed, fetched or changed; MLX is asked only if it is there.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from importlib import metadata
from pathlib import Path
from typing import Any

import psutil

from kvlab.errors import KvlabError
from kvlab.units import binary

PACKAGES = ("kvlab", "mlx", "mlx-lm", "altair", "polars", "jupyterlab")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC_BROWSERS = ("/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


def look() -> dict[str, Any]:
    """Return what was found, as JSON holds it. Bytes are whole bytes; None stands for what is not there."""
    from kvlab.models import cache_folder

    folder = cache_folder.folder()
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": os.cpu_count(),
        "ram_bytes": psutil.virtual_memory().total,
        "versions": {name: _version(name) for name in PACKAGES},
        **_mlx(),
        "browser": _browser(),
        "cache_folder": str(folder),
        "models": _models(folder / "models"),
        "free_disk_bytes": _free_disk(folder),
    }


def as_text(seen: dict[str, Any]) -> str:
    """Return what `look` found, for a terminal."""
    rows = [
        ("Python", f"{seen['python']} on {seen['system']}, {seen['cpus']} CPUs, {binary(seen['ram_bytes'])} of RAM"),
        *((name, version or "not installed") for name, version in seen["versions"].items()),
        ("MLX device", seen["mlx_device"] or "none"),
        ("BLAS", f"{seen['blas']} ({seen['blas_detail']})" if seen["blas"] else "none"),
        ("browser", seen["browser"] or "no Chromium found: browser tests and notebook screenshots need one"),
        ("cache folder", f"{seen['cache_folder']}, {binary(seen['free_disk_bytes'])} free"),
        *(("model", f"{model['name']}, {binary(model['bytes'])}") for model in seen["models"]),
    ]
    if not seen["models"]:
        rows.append(("model", "none yet: kvlab demo fetches the embedded one"))
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {words}" for name, words in rows)


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _mlx() -> dict[str, str | None]:
    if importlib.util.find_spec("mlx") is None:
        return {"mlx_device": None, "blas": None, "blas_detail": None}
    from kvlab.models import blas, precision

    try:
        status = blas.route()
    except KvlabError as error:
        return {"mlx_device": precision.device(), "blas": "unknown", "blas_detail": error.what}
    return {"mlx_device": precision.device(), "blas": status.used, "blas_detail": status.detail}


def _browser() -> str | None:
    found = [path for name in BROWSERS if (path := shutil.which(name))]
    found += [path for path in MAC_BROWSERS if Path(path).exists()]
    return found[0] if found else None


def _models(folder: Path) -> list[dict[str, Any]]:
    if not folder.is_dir():
        return []
    return [{"name": path.name, "bytes": _bytes_of(path)} for path in sorted(folder.iterdir())]


def _bytes_of(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else (path,)
    return sum(file.stat().st_size for file in files if file.is_file())


def _free_disk(folder: Path) -> int:
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(there).free
