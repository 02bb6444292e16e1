"""The computer a recording is made on: its system, its size, the versions of packages. No name of a host or a user."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
from typing import Any

import psutil


def facts() -> dict[str, Any]:
    """Return system, its version, architecture, CPUs, bytes of RAM and the version of Python, as JSON holds them."""
    # A kernel's release may carry the name of whoever built it: only its leading figures are kept.
    release = re.match(r"[0-9.]*", platform.release())
    return {
        "system": platform.system(),
        "version": platform.mac_ver()[0] or (release[0] if release else ""),
        "architecture": platform.machine(),
        "cpus": os.cpu_count() or 0,
        "ram_bytes": psutil.virtual_memory().total,
        "python": platform.python_version(),
    }


def version_of(package: str) -> str | None:
    """Return the version of an installed package, without importing it; None when it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
