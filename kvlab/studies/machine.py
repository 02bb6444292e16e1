"""What this machine can run: versions, the device MLX computes on, the BLAS it uses, a browser, models at hand, room on the disk.

Nothing is installed, fetched or changed; MLX is asked only if it is there.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from pathlib import Path
from typing import Any

from kvlab.errors import KvlabError
from kvlab.recording import computer
from kvlab.units import binary
from kvlab.views import text_table

PACKAGES = ("kvlab", "mlx", "mlx-lm", "altair", "polars", "jupyterlab")
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = "KVLAB_CHROMIUM"
"""The environment variable that names the browser's program when it is in none of the usual places."""

MAC_BROWSERS = ("/Applications/Chromium.app/Contents/MacOS/Chromium", "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome")


def look() -> dict[str, Any]:
    """Return what was found, as JSON holds it. Bytes are whole bytes; None stands for what is not there."""
    from kvlab.models import cache_folder

    folder = cache_folder.folder()
    return {
        **computer.facts(),
        "versions": {name: computer.version_of(name) for name in PACKAGES},
        **_mlx(),
        "browser": find_browser(),
        "cache_folder": str(folder),
        "models": _models(folder / "models"),
        "free_disk_bytes": _free_disk(folder),
    }


def as_text(seen: dict[str, Any]) -> str:
    """Return what `look` found, for a terminal."""
    rows = [
        ("Python", seen["python"]),
        ("system", f"{seen['system']} {seen['version']} {seen['architecture']}, {seen['cpus']} CPUs, {binary(seen['ram_bytes'])} of RAM"),
        *((name, version or "not installed") for name, version in seen["versions"].items()),
        ("MLX device", seen["mlx_device"] or "none"),
        ("BLAS", f"{seen['blas']} ({seen['blas_detail']})" if seen["blas"] else "none"),
        ("browser", seen["browser"] or "no Chromium found: browser tests and notebook screenshots need one"),
        ("cache folder", f"{seen['cache_folder']}, {binary(seen['free_disk_bytes'])} free"),
        *(("model", f"{model['name']}, {binary(model['bytes'])}") for model in seen["models"]),
    ]
    if not seen["models"]:
        rows.append(("model", "none yet: kvlab demo fetches the embedded one"))
    return text_table.columns(rows[0], rows[1:], left=(0, 1))


def find_browser() -> str | None:
    """Return the path of a Chromium: what the environment variable KVLAB_CHROMIUM names, else one in the usual places; None without one."""
    found = shutil.which(os.environ.get(CHROMIUM, ""))
    usual = (shutil.which(name) for name in (*BROWSERS, *MAC_BROWSERS))
    return found or next((path for path in usual if path), None)


def _mlx() -> dict[str, str | None]:
    if importlib.util.find_spec("mlx") is None:
        return {"mlx_device": None, "blas": None, "blas_detail": None}
    from kvlab.models import blas, precision

    try:
        status = blas.route()
    except KvlabError as error:
        return {"mlx_device": precision.device(), "blas": "unknown", "blas_detail": error.what}
    return {"mlx_device": precision.device(), "blas": status.used, "blas_detail": status.detail}


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
