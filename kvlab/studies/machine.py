"""What this machine can run: versions, the device MLX computes on, the BLAS it uses, a browser, models at hand, room on the disk.

Nothing is installed, fetched or changed; MLX is imported only if it is there.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Machine:
    """What was found, as JSON holds it: bytes are whole bytes, None is what is not there."""

    found: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return what was found."""
        return self.found

    def __str__(self) -> str:
        found = self.found
        rows = [
            ("Python", found["python"]),
            ("system", f"{found['system']} {found['version']} {found['architecture']}, {found['cpus']} CPUs, {binary(found['ram_bytes'])} of RAM"),
            *((name, version or "not installed") for name, version in found["versions"].items()),
            ("MLX device", found["mlx_device"] or "none"),
            ("BLAS", f"{found['blas']} ({found['blas_detail']})" if found["blas"] else "none"),
            ("browser", found["browser"] or "no Chromium found: browser tests and notebook screenshots need one"),
            ("cache folder", f"{found['cache_folder']}, {binary(found['free_disk_bytes'])} free"),
            *(("model", f"{model['name']}, {binary(model['bytes'])}") for model in found["models"]),
        ]
        if not found["models"]:
            rows.append(("model", "none yet: kvlab demo fetches the embedded one"))
        return text_table.columns(rows[0], rows[1:], left=(0, 1))


def look() -> Machine:
    """Look at this machine."""
    from kvlab import cache_folder

    folder = cache_folder.folder()
    return Machine(
        {
            **computer.facts(),
            "versions": {name: computer.version_of(name) for name in PACKAGES},
            **_mlx(),
            "browser": find_browser(),
            "cache_folder": str(folder),
            "models": _models(folder / "models"),
            "free_disk_bytes": _free_disk(folder),
        }
    )


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
